import type {HoldfastError} from '../protocol/errors.ts'
import type {Connection} from '../protocol/session-view.ts'

/** How the connection goes, pure: the client performs what this says. */
export type SyncState = Connection & {
  /** Failures in a row; sets the pause before the next try. */
  failures: number
}

export const initialSync: SyncState = {state: 'connecting', detail: 'Connecting to the server.', failures: 0}

export type SyncSignal =
  | {type: 'cut'}
  | {type: 'joined'}
  | {type: 'connected'}
  | {type: 'ended'}
  | {type: 'failed'; error: HoldfastError}

export function onSignal(state: SyncState, signal: SyncSignal): SyncState {
  switch (signal.type) {
    case 'cut':
      return {state: 'cut', detail: 'You switched the connection off; everything stays on this device.', failures: 0}
    case 'joined':
      return initialSync
    case 'connected':
      return {state: 'live', detail: '', failures: 0}
    case 'ended':
      // Counts as a failure: a server that lets in and hangs up at once must not be called in a hot loop.
      return state.state === 'cut' ? state : {...initialSync, failures: state.failures + 1}
    case 'failed':
      return state.state === 'cut' ? state : failed(state.failures + 1, signal.error)
  }
}

function failed(failures: number, error: HoldfastError): SyncState {
  const notLetIn = ['unauthenticated', 'token_expired', 'forbidden', 'version_mismatch'].includes(error.code)
  return {state: notLetIn ? 'unauthenticated' : 'unreachable', detail: error.message, failures}
}

/** Milliseconds to wait before try number `failures + 1`: doubling from half a second to 30 s, half of it jitter. [SYNC-6] */
export function backoffMs(failures: number, random: number): number {
  if (failures === 0) return 0
  const ceiling = Math.min(30_000, 500 * 2 ** (failures - 1))
  return Math.round(ceiling * (0.5 + random / 2))
}
