import type {Environment} from '../../../runtime/protocol/environment.ts'
import {serverEnvironment} from '../../../sync-server/environment.ts'

/** The real ids with a clock that a test can move. */
export function movableClock(): Environment & {advance(ms: number): void} {
  let ahead = 0
  return {
    ...serverEnvironment,
    now: () => Date.now() + ahead,
    advance: ms => {
      ahead += ms
    },
  }
}
