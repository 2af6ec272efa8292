import type {Environment} from '../../runtime/protocol/environment.ts'
import type {DataLayer} from '../data-layer.ts'
import type {ErasedFiles} from '../erased-files.ts'
import type {Store} from '../storage/store.ts'

export type FileSweep = {store: Store; environment: Environment; files: ErasedFiles; layers: readonly DataLayer[]}

const page = 1000

/**
 * Completes the receipts whose files are clean: after a rewrite (PGlite), or when the operator's stated time has
 * passed. Returns a function that runs one round and returns the number of completed erasures. [RET-2, RET-3]
 *
 * @param inDoubt the clock may be wrong after a jump, so no stated time counts as passed
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

/**
 * Marks the files clean of everything erased at `before` (ms since 1970) or earlier. Returns the number of erasures.
 */
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
    // `Math.abs`: a clock that was set back must not prolong the pause.
    if (!files.rewritten() || Math.abs(startedAt - pause.from) < pause.ms) return 0
    // Listed before the rewrite: what is erased during the rewrite waits for the next one.
    const refs = await store.erasures.filesWaiting(startedAt, page)
    if (refs.length === 0) return 0
    // A database that is never idle must not keep erased data forever.
    const overdue = await store.erasures.filesWaiting(startedAt - files.rewriteWithinMs, 1)
    const isClean = await store.files.run(rewriteLayers, overdue.length > 0)
    const endedAt = environment.now()
    // A rewrite that was interrupted by other use is retried sooner, but not in every round.
    pause = {from: endedAt, ms: isClean ? files.rewriteEveryMs : files.rewriteEveryMs / 10}
    if (!isClean) return 0
    await store.erasures.filesDone(refs, startedAt, endedAt)
    return refs.length
  }
}
