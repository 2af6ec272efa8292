import {writeFileSync} from 'node:fs'
import {cp, readFile, rm, stat, writeFile} from 'node:fs/promises'
import {join, resolve} from 'node:path'
import * as z from 'zod'
import {HoldfastError} from '../../protocol/errors.ts'
import {type RecoveryCause, recoveryCauseSchema} from '../../protocol/recovery.ts'
import type {Handle} from '../one-file/handle.ts'
import {outboxFiles} from '../outbox/outbox-files.ts'
import {ofDevice} from './cannot-open.ts'
import {unreadable} from './check-files.ts'
import type {DeviceDatabase, Previous} from './device-database.ts'
import {nodeHandle} from './node-handle.ts'
import {openNodeDatabase} from './open-node.ts'
import type {Stopped} from './opened-database.ts'
import {setAsideLimits} from './opfs-generations.ts'
import {namesIn} from './set-aside.ts'
import {startForSalvage} from './start-pglite.ts'
import {verifyEveryRow} from './verify.ts'

const suspectSchema = z.object({sign: z.enum(['certain', 'suspected']), why: z.string()})
const salvageSchema = z.object({from: z.string(), cause: recoveryCauseSchema, detail: z.string()})
type Salvage = z.infer<typeof salvageSchema>

const [suspectFile, salvageFile] = ['suspect.json', 'salvage.json']

/**
 * Opens the database of a device in a folder. A damaged database is set aside and replaced by a new one. The readable data
 * is restored, the server sends the rest, and a report is shown to the person. [LOG-9]
 *
 * @throws HoldfastError as `openNodeDatabase`. Damage is an error only if no new database can be created.
 */
export async function openDeviceFolder(dataDir: string, onStopped?: Stopped): Promise<DeviceDatabase> {
  if (dataDir.startsWith('memory://')) {
    const {db, fresh, close} = await openNodeDatabase({dataDir, ...(onStopped && {onStopped})})
    return {db, storage: 'memory', fresh, outbox: null, previous: null, close}
  }
  const folder = resolve(dataDir)
  const suspect = await readJson(join(folder, suspectFile), suspectSchema)
  const opened = await openNodeDatabase({
    dataDir,
    onDamage: 'begin_anew',
    stopOnDamage: suspect?.sign === 'suspected' ? 'stop_if_certain' : 'stop',
    onStopped: error => {
      noteDamage(folder, error)
      onStopped?.(error)
    },
    ...(suspect && {
      proof: suspect.sign === 'certain' ? async () => suspect.why : db => verifyEveryRow(db).then(() => null, String),
    }),
    onSetAside: async (from, fault, detail) => {
      const salvage: Salvage = {from, cause: causeOf(fault), detail}
      // A foreign database is not salvaged: its rows may belong to another person.
      if (fault !== 'other_database') await writeFile(join(folder, salvageFile), JSON.stringify(salvage))
      await rm(join(folder, suspectFile), {force: true})
    },
  }).catch(error => Promise.reject(ofDevice(error)))
  try {
    await rm(join(folder, suspectFile), {force: true})
    const previous = await previousIn(folder)
    await removeExpired(folder, previous?.setAside ?? null)
    const outbox = outboxFiles([outboxHandle(folder, 'outbox.0'), outboxHandle(folder, 'outbox.1')])
    const close = () => outbox.close().finally(opened.close)
    return {db: opened.db, storage: 'folder', fresh: opened.fresh, outbox, previous, close}
  } catch (error) {
    await opened.close()
    throw HoldfastError.from(error)
  }
}

function outboxHandle(folder: string, name: string): Handle {
  try {
    return nodeHandle(join(folder, name))
  } catch (error) {
    throw unreadable(folder, `the file ${name}`, error) ?? error
  }
}

function noteDamage(folder: string, error: HoldfastError): void {
  if (!HoldfastError.is(error, 'database_damaged')) return
  const sign = error.details.sign === 'suspected' ? 'suspected' : 'certain'
  writeFileSync(join(folder, suspectFile), JSON.stringify({sign, why: String(error.details.why ?? error.message)}))
}

function causeOf(fault: string): RecoveryCause {
  if (fault === 'gone') return 'emptied'
  return fault === 'layout' || fault === 'version' ? 'old_layout' : 'damaged'
}

async function previousIn(folder: string): Promise<Previous | null> {
  const salvage = await readJson(join(folder, salvageFile), salvageSchema)
  if (!salvage) return null
  const copy = join(folder, 'salvage.copy')
  const done = async () => {
    await rm(copy, {recursive: true, force: true})
    await rm(join(folder, salvageFile), {force: true})
  }
  return {
    cause: salvage.cause,
    detail: salvage.detail,
    setAside: salvage.from,
    open: async () => {
      await rm(copy, {recursive: true, force: true})
      await cp(salvage.from, copy, {recursive: true})
      await stat(join(copy, 'PG_VERSION'))
      return startForSalvage({dataDir: copy})
    },
    done,
  }
}

/** Removes expired copies. Numbers increase, so the highest ones were set aside last. */
async function removeExpired(folder: string, inUse: string | null): Promise<void> {
  const numbers = (await namesIn(folder)).flatMap(name => /^postgres\.damaged-(\d+)$/.exec(name)?.[1] ?? [])
  const sorted = numbers.map(Number).toSorted((a, b) => b - a)
  for (const [place, number] of sorted.entries()) {
    const files = join(folder, `postgres.damaged-${number}`)
    const age = Date.now() - (await stat(files)).ctimeMs
    if (files === inUse || (place < setAsideLimits.copies && age < setAsideLimits.days * 24 * 60 * 60 * 1000)) continue
    await rm(files, {recursive: true, force: true})
    await rm(join(folder, `generation.damaged-${number}`), {force: true})
  }
}

async function readJson<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.infer<Schema> | null> {
  try {
    return schema.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}
