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
  /** Where `pid` means something; absent in the locks of builds that did not beat. */
  place: z.string().optional(),
  token: z.string(),
})
type Holder = z.infer<typeof holderSchema>

/** Stands in for a lock that cannot be read, which no holder of ours ever leaves. */
const nobody: Holder = {pid: -1, token: 'unreadable'}

/** Releases the lock. */
export type FolderLock = (() => Promise<void>) & {
  /** Throws once another process has taken the lock over, which it does after this one was frozen. */
  requireHeld: Fence
}

/**
 * Takes the one lock on a database folder: two instances on one folder both open, and lose rows.
 *
 *   holder on this machine, same PID namespace  ─▶ asked for by pid and start time; taken over at once if it is gone
 *   holder in another container or machine      ─▶ watched for 10 s; taken over if its heartbeat stands still
 *
 * A holder that was frozen meanwhile is fenced: it stops before its next write. Throws 'database_locked' naming folder
 * and pid.
 *
 * @example
 * const release = await lockFolder('data/desk')
 */
export async function lockFolder(folder: string): Promise<FolderLock> {
  await mkdir(folder, {recursive: true})
  const lock = join(folder, 'holdfast.lock')
  const me: Holder = {...identityOf(process.pid), place: placeOfProcesses(), token: randomUUID()}
  // Written aside and linked into place: a link fails if its name is taken, and nobody reads half a lock.
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

/** False if somebody moved in between, and it is worth looking again. */
async function take(folder: string, lock: string, draft: string): Promise<boolean> {
  const dead = await deadHolders(folder, lock)
  const first = dead[0]
  const last = dead.at(-1)
  if (!first || !last) return place(draft, lock)
  const claim = claimAfter(lock, last)
  if (!(await place(draft, claim))) return false
  // The claim is ours alone, unless the lock had already passed on when we made it.
  if ((await readHolder(lock))?.token !== first.token) {
    await rm(claim, {force: true})
    return false
  }
  await rename(draft, lock)
  for (const holder of dead) await rm(claimAfter(lock, holder), {force: true})
  return true
}

/**
 * Whoever finds the holder dead claims the right to follow it, by a name only one can take, and only then replaces
 * the lock; a claimant may die in between, so the claims are followed from the lock to the last one.
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

/** Elsewhere the same pid is another process, or none, so only the heartbeat counts. */
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

/** Undefined only when there is no lock: one that cannot be read may be somebody's. */
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
