import type {Environment} from '../../runtime/protocol/environment.ts'
import type {DataLayer} from '../data-layer.ts'
import type {ErasedFiles} from '../erased-files.ts'
import type {Store} from '../storage/store.ts'

export type FileSweep = {store: Store; environment: Environment; files: ErasedFiles; layers: readonly DataLayer[]}

const page = 1000

/**
 * Makes receipts complete whose files are clean: proved by a rewrite (PGlite), or because the time that the operator
 * stated has passed. Returns a function that does one round and says for how many erasures. [RET-2, RET-3]
 *
 * @param inDoubt the clock has just jumped, so no stated time counts as passed
 */
export function fileSweeper(context: FileSweep): (inDoubt: boolean) => Promise<number> {
  const rewrite = rewriter(context)
  return async inDoubt => {
    const {environment, files} = context
    const stated =
      files.goneAfterMs === null || inDoubt ? 0 : await confirm(context, environment.now() - files.goneAfterMs)
    return stated + (await rewrite())
  }
}

/** The files hold nothing any more of what was erased at `before` (ms) or earlier; says for how many erasures. */
export async function confirm(
  {store, environment}: Pick<FileSweep, 'store' | 'environment'>,
  before: number,
): Promise<number> {
  let done = 0
  for (;;) {
    const refs = await store.erasures.filesWaiting(before, page)
    await store.erasures.filesDone(refs, before, environment.now())
    done += refs.length
    if (refs.length < page) return done
  }
}

function rewriter({store, environment, files, layers}: FileSweep): () => Promise<number> {
  const rewriteLayers = async () => {
    for (const layer of layers) await layer.rewriteFiles?.()
  }
  let pause = {from: 0, ms: 0}
  return async () => {
    const startedAt = environment.now()
    // A clock that was set back does not prolong the pause.
    if (!files.rewritten() || Math.abs(startedAt - pause.from) < pause.ms) return 0
    // Listed first: what is erased meanwhile waits for the next rewrite.
    const refs = await store.erasures.filesWaiting(startedAt, page)
    if (refs.length === 0) return 0
    // A database that is never idle must not keep erased words for ever.
    const overdue = await store.erasures.filesWaiting(startedAt - files.rewriteWithinMs, 1)
    const isClean = await store.files.run(rewriteLayers, overdue.length > 0)
    const endedAt = environment.now()
    // Broken off because the database is in use, it goes on sooner, but never at every round.
    pause = {from: endedAt, ms: isClean ? files.rewriteEveryMs : files.rewriteEveryMs / 10}
    if (!isClean) return 0
    await store.erasures.filesDone(refs, startedAt, endedAt)
    return refs.length
  }
}
