import {closeSync, fstatSync, openSync} from 'node:fs'
import {Worker} from 'node:worker_threads'

/**
 * The liveness of a process in another container or on another machine cannot be queried. A holder therefore changes the
 * modification time of its lock periodically, and a contender watches for changes. The time is a counter, not a clock.
 */
const beatMs = 1000
const lookMs = 250
/** Number of checks without a change after which a remote holder counts as dead: 10 s in which the contender itself ran. */
const silentLooks = 40

/**
 * Heartbeat in a separate thread, because a PGlite statement blocks the main thread. It is loaded as a data URL: Node's
 * flags can change how `eval` code is parsed.
 */
const beatForever = `
  import {futimesSync} from 'node:fs'
  import {workerData} from 'node:worker_threads'
  const {lock, everyMs} = workerData
  let beat = 1
  const tell = () => { try { futimesSync(lock, beat, beat++) } catch {} }
  tell()
  setInterval(tell, everyMs)
`

/** Starts the heartbeat on the open file `lock`. Returns a function that stops it. Does not keep the process alive. */
export function startBeating(lock: number): () => Promise<void> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(beatForever)}`), {
    workerData: {lock, everyMs: beatMs},
  })
  // Without the heartbeat a remote contender takes over, and the fence stops this process.
  worker.on('error', () => undefined)
  worker.unref()
  return async () => void (await worker.terminate())
}

/** Resolves true at the first heartbeat, false after 40 checks without one. Counts checks, so that suspension is not silence. */
export async function isBeating(lock: string): Promise<boolean> {
  const first = beatOf(lock)
  for (let look = 0; look < silentLooks; look++) {
    await new Promise(resolve => setTimeout(resolve, lookMs))
    const now = beatOf(lock)
    if (now === undefined || first === undefined) return now !== undefined
    if (now !== first) return true
  }
  return false
}

/** Reopens the file each time, so that a network filesystem revalidates its cached attributes. */
function beatOf(lock: string): string | undefined {
  try {
    const file = openSync(lock, 'r')
    try {
      const {ino, mtimeNs} = fstatSync(file, {bigint: true})
      return `${ino}/${mtimeNs}`
    } finally {
      closeSync(file)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
