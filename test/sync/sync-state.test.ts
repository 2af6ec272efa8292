import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {type ErrorCode, HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Connection} from '../../runtime/protocol/session-view.ts'
import {backoffMs, longestAskedPauseMs, retryPauseMs} from '../../runtime/sync/back-off.ts'
import {connectionOf, initialSync, onSignal, pollPauseMs, type SyncSignal} from '../../runtime/sync/sync-state.ts'

const error = (code: ErrorCode) => new HoldfastError(code, `because ${code}`)
const failed = (code: ErrorCode): SyncSignal => ({type: 'failed', error: error(code)})
const unanswered = (code: ErrorCode): SyncSignal => ({type: 'unanswered', error: error(code)})
const [connected, answered, held, ended]: SyncSignal[] = [
  {type: 'connected'},
  {type: 'answered'},
  {type: 'held'},
  {type: 'ended'},
] as const
const [cut, joined]: SyncSignal[] = [{type: 'cut'}, {type: 'joined'}]
const given = (...signals: (SyncSignal | undefined)[]) =>
  signals.reduce((state, signal) => (signal ? onSignal(state, signal) : state), initialSync)

const table: [string, (SyncSignal | undefined)[], Connection['state']][] = [
  ['at the start', [], 'connecting'],
  ['with a stream', [connected], 'live'],
  ['when stream and requests fail', [failed('offline')], 'unreachable'],
  ['when the stream fails and requests are answered', [failed('offline'), answered], 'polling'],
  ['when a stream that failed before fails again', [failed('offline'), answered, failed('deadline')], 'polling'],
  ['when a stream that stood breaks', [connected, answered, failed('deadline')], 'unreachable'],
  ['when a stream that stood ends', [connected, ended], 'connecting'],
  ['when a stream holds news back', [connected, held, answered], 'polling'],
  ['when a stream holds news back and requests fail', [connected, held, unanswered('offline')], 'unreachable'],
  ['when a held stream is followed by a new one', [connected, held, answered, ended, connected], 'live'],
  ['when a request fails beside a live stream', [connected, unanswered('offline')], 'live'],
  ['when polling fails', [failed('offline'), answered, unanswered('offline')], 'unreachable'],
  ['without a valid token', [failed('token_expired')], 'unauthenticated'],
  ['with another protocol', [failed('version_mismatch')], 'unauthenticated'],
  ['when forbidden', [unanswered('forbidden')], 'unauthenticated'],
  ['when the server fails', [failed('internal')], 'unreachable'],
  ['when it is cut', [connected, cut], 'cut'],
  ['when it is joined again', [connected, cut, joined], 'connecting'],
]

describe('the connection', () => {
  test.each(table)('[SYNC-5] [SYNC-8] %s', (_, signals, state) => {
    expect(connectionOf(given(...signals)).state).toBe(state)
  })

  test('[SYNC-6] joined while it is joined, cut while it is cut, or held twice changes nothing', () => {
    const live = given(connected)
    expect(onSignal(live, joined!)).toBe(live)
    const apart = given(connected, cut)
    for (const late of [cut, connected, ended, held, answered, failed('offline'), unanswered('offline')]) {
      expect(onSignal(apart, late!)).toBe(apart)
    }
    expect(given(connected, connected)).toEqual(live)
    expect(given(connected, held, held)).toEqual(given(connected, held))
  })

  test('[SYNC-6] a server that lets in and hangs up at once is called less and less often', () => {
    const waits = Array.from({length: 8}, (_, i) => {
      // Only a connection that stood resets the count, so in and out again is one failure after the other.
      return backoffMs(given(...Array.from({length: i + 1}, () => ended)).streamFailures, 0)
    })
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000])
    expect(given(ended, ended, {type: 'ended', stood: true}).streamFailures).toBe(0)
  })
})

describe('polling', () => {
  const quietly = (quiet: number, ...signals: (SyncSignal | undefined)[]) =>
    pollPauseMs(given(...signals), {quiet, random: 1})

  test('[SYNC-8] begins when no stream says hello within seconds, and at once when a stream fails', () => {
    expect(quietly(0)).toBe(3000)
    expect(quietly(0, failed('offline'))).toBe(500)
    expect(quietly(0, connected, failed('offline'))).toBe(500)
  })

  test('[SYNC-6] [SYNC-8] asks less and less often while nothing is new, and not at all beside a live stream', () => {
    const polling = [failed('offline'), answered]
    expect([0, 1, 2, 10].map(quiet => quietly(quiet, ...polling))).toEqual([2000, 3000, 4500, 15_000])
    expect([quietly(0, connected), quietly(0, connected, answered), quietly(0, cut)]).toEqual([null, null, null])
    expect(quietly(0, connected, held, answered)).toBe(2000)
    expect(quietly(0, connected, unanswered('offline'))).toBe(500)
  })
})

describe('pauses', () => {
  test('[SYNC-6] are never shorter than a quarter of a second after a failure, never longer than half a minute', () => {
    fc.assert(
      fc.property(fc.integer({min: 1, max: 2000}), fc.double({min: 0, max: 1, noNaN: true}), (failures, random) => {
        const wait = backoffMs(failures, random)
        expect(wait).toBeGreaterThanOrEqual(250)
        expect(wait).toBeLessThanOrEqual(30_000)
        expect(wait).toBeLessThanOrEqual(backoffMs(failures + 1, random))
      }),
    )
  })

  test('[SYNC-6] half of a pause is jitter, so that devices do not come back all at once', () => {
    expect([backoffMs(4, 0), backoffMs(4, 1)]).toEqual([2000, 4000])
    expect(backoffMs(0, 0.5)).toBe(0)
  })

  test('[SYNC-6] are as long as Retry-After asks, with jitter, and bounded', () => {
    const asked = (details: Record<string, number>) => new HoldfastError('rate_limited', 'x', {details})
    expect(retryPauseMs(asked({retryAfterMs: 8000}), 1, 0)).toBe(8000)
    expect(retryPauseMs(asked({retryAfterMs: 8000}), 1, 1)).toBe(10_000)
    expect(retryPauseMs(asked({waitMs: 120}), 1, 0)).toBe(250)
    expect(retryPauseMs(asked({retryAfterMs: 1e9}), 1, 1)).toBe(longestAskedPauseMs)
    expect(retryPauseMs(new Error('x'), 3, 1)).toBe(2000)
  })
})
