import type {HoldfastError} from '../protocol/errors.ts'
import type {Connection} from '../protocol/session-view.ts'
import {backoffMs, retryPauseMs} from './back-off.ts'

/**
 * State of the connection, as a pure function of signals. Stream and requests are judged separately, because a proxy
 * may buffer streams and pass requests. [SYNC-8]
 */
export type SyncState = {
  cut: boolean
  /** `held`: the stream started, but changes arrived late or not at all. */
  stream: 'none' | 'live' | 'held'
  /** Result of the last request since the stream ended. */
  asked: 'unknown' | 'answered' | 'failed'
  /** Why the last stream or request failed; null if neither did. */
  error: HoldfastError | null
  /** Consecutive failed streams; determines the pause before the next try. */
  streamFailures: number
  /** Consecutive failed requests; determines the pause before the next try. */
  failures: number
}

export const initialSync: SyncState = {
  cut: false,
  stream: 'none',
  asked: 'unknown',
  error: null,
  streamFailures: 0,
  failures: 0,
}

export type SyncSignal =
  | {type: 'cut'}
  | {type: 'joined'}
  /** The stream has started. */
  | {type: 'connected'}
  /** A poke that the stream should have delivered is missing. */
  | {type: 'held'}
  /** The stream ended without an error. `stood`: it lasted for a while, so the next may start at once. */
  | {type: 'ended'; stood?: boolean}
  | {type: 'failed'; error: HoldfastError}
  /** A request succeeded or failed. */
  | {type: 'answered'}
  | {type: 'unanswered'; error: HoldfastError}

/** Signals may arrive twice, late, or in any order. */
export function onSignal(state: SyncState, signal: SyncSignal): SyncState {
  if (signal.type === 'joined') return state.cut ? initialSync : state
  if (state.cut) return state
  const {streamFailures, failures} = state
  switch (signal.type) {
    case 'cut':
      return {...initialSync, cut: true}
    case 'connected':
      return {...initialSync, stream: 'live'}
    case 'held':
      return state.stream === 'live' ? {...state, stream: 'held'} : state
    case 'ended':
      // Counts as a failure: a server that ends streams at once must not cause a hot loop.
      return {...withoutStream(state), error: null, streamFailures: signal.stood ? 0 : streamFailures + 1}
    case 'failed':
      return {...withoutStream(state), error: signal.error, streamFailures: streamFailures + 1}
    case 'answered':
      return {...state, asked: 'answered', failures: 0}
    case 'unanswered':
      return {...state, asked: 'failed', error: signal.error, failures: failures + 1}
  }
}

/** A live stream proved that the server was reachable; whether requests succeed now is unknown. */
function withoutStream(state: SyncState): SyncState {
  return {...state, stream: 'none', asked: state.stream === 'live' ? 'unknown' : state.asked}
}

/** The connection as it is shown to a person. */
export function connectionOf({cut, stream, asked, error}: SyncState): Connection {
  if (cut) return {state: 'cut', detail: 'You switched the connection off; everything stays on this device.'}
  if (stream === 'live') return {state: 'live', detail: ''}
  if (asked === 'answered') {
    return {
      state: 'polling',
      detail: 'Live updates do not reach this device, so it checks for changes every few seconds.',
    }
  }
  if (error && isNotLetIn(error)) return {state: 'unauthenticated', detail: error.message}
  if (error) {
    const intercepted = error.details.intercepted === true
    return {state: 'unreachable', detail: error.message, ...(intercepted && {intercepted})}
  }
  return {state: 'connecting', detail: 'Connecting to the server.'}
}

function isNotLetIn({code}: HoldfastError): boolean {
  return ['unauthenticated', 'token_expired', 'other_person', 'forbidden', 'version_mismatch'].includes(code)
}

/** Milliseconds that a stream has to start before polling begins. */
const helloMs = 3000
const polls = {firstMs: 2000, longestMs: 15_000}

/**
 * Milliseconds until the next poll; null while the stream delivers changes. `quiet`: rounds without changes; polls
 * become less frequent. [SYNC-6, SYNC-8]
 */
export function pollPauseMs(
  {cut, stream, asked, error, failures, streamFailures}: SyncState,
  {quiet, random}: {quiet: number; random: number},
): number | null {
  if (cut || (stream === 'live' && asked !== 'failed')) return null
  if (asked === 'failed') return retryPauseMs(error, failures, random)
  if (asked === 'unknown') return error ? backoffMs(Math.max(1, streamFailures), random) : helloMs
  const ceiling = Math.min(polls.longestMs, polls.firstMs * 1.5 ** quiet)
  return Math.round(ceiling * (0.75 + random / 4))
}
