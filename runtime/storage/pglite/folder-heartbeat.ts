import {closeSync, fstatSync, openSync} from 'node:fs'
import {Worker} from 'node:worker_threads'

/**
 * A process in another container or on another machine cannot be asked whether it runs. So a holder keeps changing the
 * modification time of its lock, and a contender watches for the change. The time is a counter: no clock takes part.
 */
const beatMs = 1000
const lookMs = 250
/** Looks without a change after which a holder elsewhere counts as gone: 10 s in which the contender itself ran. */
const silentLooks = 40

/** A module by its address, since code to evaluate is read by the flags of the process. In a thread of its own, because PGlite may block the main one for as long as a statement takes. */
const beatForever = `
  import {futimesSync} from 'node:fs'
  import {workerData} from 'node:worker_threads'
  const {lock, everyMs} = workerData
  let beat = 1
  const tell = () => { try { futimesSync(lock, beat, beat++) } catch {} }
  tell()
  setInterval(tell, everyMs)
`

/** Beats on the open file `lock` until the returned function has resolved; does not keep the process alive. */
export function startBeating(lock: number): () => Promise<void> {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(beatForever)}`), {
    workerData: {lock, everyMs: beatMs},
  })
  // Without the thread nobody elsewhere sees the holder, and it is fenced off like a frozen one.
  worker.on('error', () => undefined)
  worker.unref()
  return async () => void (await worker.terminate())
}

/** Resolves true at the first beat, false after the silence. Counts looks, so that a frozen contender decides nothing. */
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

/** Opens the file each time, which makes a network file system ask its server. */
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
