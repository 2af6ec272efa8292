import type {HoldfastError} from '../protocol/errors.ts'
import type {Connection} from '../protocol/session-view.ts'
import {backoffMs, retryPauseMs} from './back-off.ts'

/**
 * How the connection goes, pure: the client performs what this says. Stream and requests are judged apart, since what is
 * between may hold streams back and let requests pass. [SYNC-8]
 */
export type SyncState = {
  cut: boolean
  /** `held`: it said hello, and then news came late or not at all. */
  stream: 'none' | 'live' | 'held'
  /** What became of the last request since the stream was lost. */
  asked: 'unknown' | 'answered' | 'failed'
  /** Why the last stream or request failed; null when neither did. */
  error: HoldfastError | null
  /** Failed streams in a row; sets the pause before the next try. */
  streamFailures: number
  /** Failed requests in a row; sets the pause before the next try. */
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
  /** The stream said hello. */
  | {type: 'connected'}
  /** News that the stream should have brought by now did not come. */
  | {type: 'held'}
  /** The stream ended without an error; `stood`: it had lasted for a while, so the next may follow at once. */
  | {type: 'ended'; stood?: boolean}
  | {type: 'failed'; error: HoldfastError}
  /** A request was answered by the server, or not. */
  | {type: 'answered'}
  | {type: 'unanswered'; error: HoldfastError}

/** Every signal may come twice, late, or in any order. */
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
      // Counts as a failure: a server that lets in and hangs up at once must not be called in a hot loop.
      return {...withoutStream(state), error: null, streamFailures: signal.stood ? 0 : streamFailures + 1}
    case 'failed':
      return {...withoutStream(state), error: signal.error, streamFailures: streamFailures + 1}
    case 'answered':
      return {...state, asked: 'answered', failures: 0}
    case 'unanswered':
      return {...state, asked: 'failed', error: signal.error, failures: failures + 1}
  }
}

/** A stream that stood proved that the server was there; what requests can do now is unknown. */
function withoutStream(state: SyncState): SyncState {
  return {...state, stream: 'none', asked: state.stream === 'live' ? 'unknown' : state.asked}
}

/** What is shown of it. */
export function connectionOf({cut, stream, asked, error}: SyncState): Connection {
  if (cut) return {state: 'cut', detail: 'You switched the connection off; everything stays on this device.'}
  if (stream === 'live') return {state: 'live', detail: ''}
  if (asked === 'answered') {
    return {
      state: 'polling',
      detail: 'No live updates get through to this device, so it asks for news every few seconds.',
    }
  }
  if (error) return {state: isNotLetIn(error) ? 'unauthenticated' : 'unreachable', detail: error.message}
  return {state: 'connecting', detail: 'Connecting to the server.'}
}

function isNotLetIn({code}: HoldfastError): boolean {
  return ['unauthenticated', 'token_expired', 'other_person', 'forbidden', 'version_mismatch'].includes(code)
}

/** Milliseconds that a stream gets to say hello before news is asked for instead. */
const helloMs = 3000
const polls = {firstMs: 2000, longestMs: 15_000}

/**
 * Milliseconds until news is asked for again; null while the stream brings them. `quiet` counts the rounds that brought
 * nothing new: then less and less often. [SYNC-6, SYNC-8]
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
