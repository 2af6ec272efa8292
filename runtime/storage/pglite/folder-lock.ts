import {randomUUID} from 'node:crypto'
import {closeSync, openSync} from 'node:fs'
import {link, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import * as z from 'zod'
import {HoldfastError} from '../../protocol/errors.ts'
import {isBeating, startBeating} from './folder-heartbeat.ts'
import {type Fence, lockFence} from './lock-fence.ts'
import {identityOf, isRunning, placeOfProcesses} from './process-identity.ts'

const holderSchema = z.object({
  pid: z.number(),
  startedAt: z.string().optional(),
  /** Scope in which `pid` is valid. Absent in locks of builds without a heartbeat. */
  place: z.string().optional(),
  token: z.string(),
})
type Holder = z.infer<typeof holderSchema>

/** Placeholder for an unreadable lock. A holder always writes a complete lock, so this one has no live holder. */
const nobody: Holder = {pid: -1, token: 'unreadable'}

/** Releases the lock. */
export type FolderLock = (() => Promise<void>) & {
  /** Throws after another process took over the lock, which can happen while this one is suspended. */
  requireHeld: Fence
}

/**
 * Acquires the exclusive lock of a database folder. Postgres does not prevent a second instance, which loses rows.
 *
 *   holder on this machine, same PID namespace  ─▶ checked by pid and start time; taken over at once if dead
 *   holder in another container or machine      ─▶ watched for 10 s; taken over if there is no heartbeat
 *
 * A suspended holder is fenced: it stops before its next write.
 *
 * @throws HoldfastError `database_locked` with folder and pid
 * @example
 * const release = await lockFolder('data/desk')
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  await mkdir(folder, {recursive: true})
  const lock = join(folder, 'holdfast.lock')
  const me: Holder = {...identityOf(process.pid), place: placeOfProcesses(), token: randomUUID()}
  // Write a draft and link it: `link` fails if the name exists, and readers never see a partial lock.
  const draft = `${lock}.${me.token}`
  await writeFile(draft, JSON.stringify(me))
  const file = openSync(draft, 'r+')
  const stopBeating = startBeating(file)
  const letGo = () => stopBeating().finally(() => closeSync(file))
  try {
    while (!(await take(folder, lock, draft)));
  } catch (error) {
    await letGo()
    throw error
  } finally {
    await rm(draft, {force: true})
  }
  const release = async () => {
    if ((await readHolder(lock))?.token === me.token) await rm(lock, {force: true})
    await letGo()
  }
  return Object.assign(release, {requireHeld: lockFence(lock, file)})
}

/** Tries to acquire the lock. Returns false if another contender interfered and the caller should retry. */
async function take(folder: string, lock: string, draft: string): Promise<boolean> {
  const dead = await deadHolders(folder, lock)
  const first = dead[0]
  const last = dead.at(-1)
  if (!first || !last) return place(draft, lock)
  const claim = claimAfter(lock, last)
  if (!(await place(draft, claim))) return false
  // The claim is exclusive, unless the lock changed hands before the claim was created.
  if ((await readHolder(lock))?.token !== first.token) {
    await rm(claim, {force: true})
    return false
  }
  await rename(draft, lock)
  for (const holder of dead) await rm(claimAfter(lock, holder), {force: true})
  return true
}

/**
 * Returns the chain of dead holders: the lock, then its claims. A contender that finds the holder dead first creates a
 * claim file, which only one can create, and then replaces the lock. It may die in between, so a claim can have a claim.
 *
 * @throws HoldfastError `database_locked` if one of them is alive
 */
async function deadHolders(folder: string, lock: string): Promise<Holder[]> {
  const dead: Holder[] = []
  for (let at = lock; ; ) {
    const holder = await readHolder(at)
    if (!holder) return dead
    if (await isHeld(at, holder)) throw locked(folder, holder)
    dead.push(holder)
    at = claimAfter(lock, holder)
  }
}

/** A pid is valid only in its own place. For a holder elsewhere only the heartbeat counts. */
async function isHeld(lock: string, holder: Holder): Promise<boolean> {
  if (holder.place === undefined || holder.place === placeOfProcesses()) return isRunning(holder)
  return isBeating(lock)
}

function claimAfter(lock: string, {token}: Holder): string {
  return `${lock}.after-${token}`
}

function locked(folder: string, {pid, place}: Holder): HoldfastError {
  const where = place === undefined || place === placeOfProcesses() ? '' : ' of another container or machine'
  return new HoldfastError('database_locked', `The database in ${folder} is open in process ${pid}${where}.`, {
    details: {folder, pid},
  })
}

async function place(draft: string, name: string): Promise<boolean> {
  try {
    await link(draft, name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Returns undefined only if there is no lock. An unreadable file throws, because it may be held. */
async function readHolder(lock: string): Promise<Holder | undefined> {
  const text = await readFile(lock, 'utf8').catch(error => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  try {
    return holderSchema.parse(JSON.parse(text))
  } catch {
    return nobody
  }
}
