import {openNodeDatabase} from '../../runtime/node.ts'
import {type Bus, type LogLine, pgliteSql, reopeningSql, type Sql} from '../../sync-server/index.ts'
import {openOrAskToBeginAnew} from './begin-anew.ts'

/** `bus` carries pokes to the other processes on the same database, where there can be any. */
export type Database = {sql: Sql; bus?: Bus; close(): Promise<void>}

type Options = {
  dataDir: string
  databaseUrl?: string | undefined
  beginAnew?: string | undefined
  onStopped?: ((error: unknown) => void) | undefined
  log?: ((line: LogLine) => void) | undefined
}

/** Postgres when there is an address of one, else PGlite in the folder; `pg` is loaded only when it is needed. */
export async function openDatabase({dataDir, databaseUrl, beginAnew, onStopped, log}: Options): Promise<Database> {
  if (databaseUrl) return openShared(databaseUrl, log)
  return reopeningSql(
    async again => {
      const {db, close} = again
        ? await openNodeDatabase({dataDir, mustExist: true})
        : await openOrAskToBeginAnew(dataDir, beginAnew)
      return {sql: pgliteSql(db), close}
    },
    {log, ...(onStopped && {onStopped})},
  )
}

async function openShared(url: string, log: Options['log']): Promise<Database> {
  const {openPostgres, openPostgresBus} = await import('../../sync-server/postgres.ts')
  const {sql, close} = await openPostgres({url})
  try {
    const bus = await openPostgresBus({url, ...(log && {log})})
    return {sql, bus, close: () => bus.close().finally(close)}
  } catch (error) {
    await close()
    throw error
  }
}
