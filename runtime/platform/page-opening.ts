import type {Opening, OpeningCause} from '../protocol/opening.ts'
import {createObservable, type Observable} from './observable.ts'

export interface PageOpening extends Observable<Opening> {
  /** Resets the progress for the start of a new worker. */
  begin(): void
  failed(failure: {cause: OpeningCause; failures: number; nextAt: number}): void
}

/**
 * The opening progress across all workers that a page starts. The cause of the last failure stays visible until the
 * database is open.
 */
export function createOpening(): PageOpening {
  let last: {cause: OpeningCause; attempt: number} | null = null
  const {get, set, listen} = createObservable<Opening>(starting())

  function starting(): Opening {
    const step = {state: 'opening', step: 'script', since: Date.now(), nextAt: null} as const
    return {...step, attempt: last?.attempt ?? 1, cause: last?.cause ?? null}
  }

  return {
    get,
    listen,
    set(opening) {
      if (opening.state === 'open') last = null
      if (opening.state === 'opening' && opening.cause === null && last) set({...opening, ...last})
      else set(opening)
    },
    begin: () => set(starting()),
    failed({cause, failures, nextAt}) {
      last = {cause, attempt: failures + 1}
      set({state: 'opening', step: 'script', since: Date.now(), ...last, nextAt})
    },
  }
}
