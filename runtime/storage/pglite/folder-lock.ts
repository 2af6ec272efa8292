import {randomUUID} from 'node:crypto'
import {link, mkdir, readFile, rename, rm, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import * as z from 'zod'
import {HoldfastError} from '../../protocol/errors.ts'
import {identityOf, isRunning} from './process-identity.ts'

const holderSchema = z.object({pid: z.number(), startedAt: z.string().optional(), token: z.string()})
type Holder = z.infer<typeof holderSchema>

/** Stands in for a lock that cannot be read, which no holder of ours ever leaves. */
const nobody: Holder = {pid: -1, token: 'unreadable'}

/**
 * Takes the one lock on a database folder: two instances on one folder both open, and lose rows. A lock whose process
 * is gone, however it died, is taken over at once. Throws 'database_locked' naming folder and pid.
 *
 * @example
 * const release = await lockFolder('data/desk')
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, {recursive: true})
  const lock = join(folder, 'holdfast.lock')
  const me: Holder = {...identityOf(process.pid), token: randomUUID()}
  // Written aside and linked into place: a link fails if its name is taken, and nobody reads half a lock.
  const draft = `${lock}.${me.token}`
  await writeFile(draft, JSON.stringify(me))
  try {
    while (!(await take(folder, lock, draft)));
  } finally {
    await rm(draft, {force: true})
  }
  return async () => {
    if ((await readHolder(lock))?.token === me.token) await rm(lock, {force: true})
  }
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
    if (isRunning(holder)) throw locked(folder, holder)
    dead.push(holder)
    at = claimAfter(lock, holder)
  }
}

function claimAfter(lock: string, {token}: Holder): string {
  return `${lock}.after-${token}`
}

function locked(folder: string, {pid}: Holder): HoldfastError {
  return new HoldfastError('database_locked', `The database in ${folder} is open in process ${pid}.`, {
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

async function readHolder(lock: string): Promise<Holder | undefined> {
  const text = await readFile(lock, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  try {
    return holderSchema.parse(JSON.parse(text))
  } catch {
    return nobody
  }
}
