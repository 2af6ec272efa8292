import {randomUUID} from 'node:crypto'
import {link, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import * as z from 'zod'
import {HoldfastError} from '../../protocol/errors.ts'
import {identityOf, isRunning} from './process-identity.ts'

const holderSchema = z.object({pid: z.number(), startedAt: z.string().optional(), token: z.string()})
type Holder = z.infer<typeof holderSchema>

const lockFile = 'holdfast.lock'

/**
 * Takes the one lock on a database folder: two instances on one folder both open, and lose rows. A lock whose process
 * is gone, however it died, is taken over at once. Throws 'database_locked' naming folder and pid.
 *
 * @example
 * const release = await lockFolder('data/desk')
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, {recursive: true})
  const lock = join(folder, lockFile)
  const me: Holder = {...identityOf(process.pid), token: randomUUID()}
  // Written aside and linked into place: the link fails if another holds it, and nobody reads half a lock.
  const draft = `${lock}.${me.token}`
  await writeFile(draft, JSON.stringify(me))
  try {
    while (!(await place(draft, lock))) await clearStale(folder, lock)
  } finally {
    await rm(draft, {force: true})
  }
  return async () => {
    if ((await readHolder(lock))?.token === me.token) await rm(lock, {force: true})
  }
}

async function place(draft: string, lock: string): Promise<boolean> {
  try {
    await link(draft, lock)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function clearStale(folder: string, lock: string): Promise<void> {
  const holder = await readHolder(lock)
  if (holder && isRunning(holder)) {
    throw new HoldfastError('database_locked', `The database in ${folder} is open in process ${holder.pid}.`, {
      details: {folder, pid: holder.pid},
    })
  }
  // Moved, not removed: of two processes that both saw it stale, one must not delete the lock the other just took.
  const stale = `${lock}.stale-${randomUUID()}`
  if (!(await moved(lock, stale))) return
  const taken = await readHolder(stale)
  if (taken?.token !== holder?.token) await link(stale, lock).catch(() => {})
  await rm(stale, {force: true})
}

async function moved(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

async function readHolder(lock: string): Promise<Holder | undefined> {
  try {
    return holderSchema.parse(JSON.parse(await readFile(lock, 'utf8')))
  } catch {
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
