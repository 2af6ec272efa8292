import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {type ErrorCode, HoldfastError} from '../../runtime/protocol/errors.ts'
import {backoffMs, initialSync, onSignal, type SyncSignal, type SyncState} from '../../runtime/sync/sync-state.ts'

const failed = (code: ErrorCode): SyncSignal => ({type: 'failed', error: new HoldfastError(code, `because ${code}`)})
const live: SyncState = {state: 'live', detail: '', failures: 0}
const down: SyncState = {state: 'unreachable', detail: 'x', failures: 3}
const cut: SyncState = {state: 'cut', detail: 'x', failures: 0}

const table: [string, SyncState, SyncSignal, Partial<SyncState>][] = [
  ['connecting', initialSync, {type: 'connected'}, live],
  ['connecting', initialSync, failed('offline'), {state: 'unreachable', failures: 1, detail: 'because offline'}],
  ['live', live, failed('deadline'), {state: 'unreachable', failures: 1}],
  ['live', live, {type: 'ended'}, {state: 'connecting', failures: 1}],
  ['live', live, failed('token_expired'), {state: 'unauthenticated', failures: 1}],
  ['unreachable', down, failed('unauthenticated'), {state: 'unauthenticated', failures: 4}],
  ['unreachable', down, failed('version_mismatch'), {state: 'unauthenticated', failures: 4}],
  ['unreachable', down, failed('forbidden'), {state: 'unauthenticated', failures: 4}],
  ['unreachable', down, failed('internal'), {state: 'unreachable', failures: 4}],
  ['unreachable', down, {type: 'connected'}, live],
  ['unreachable', down, {type: 'cut'}, {state: 'cut', failures: 0}],
  ['live', live, {type: 'cut'}, {state: 'cut', failures: 0}],
  ['cut', cut, failed('offline'), cut],
  ['cut', cut, {type: 'ended'}, cut],
  ['cut', cut, {type: 'joined'}, initialSync],
]

describe('connection', () => {
  test.each(table)('[SYNC-5] from %s', (_, before, signal, after) => {
    expect(onSignal(before, signal)).toMatchObject(after)
  })

  test('[SYNC-6] a server that lets in and hangs up at once is called less and less often', () => {
    let state = initialSync
    const waits = Array.from({length: 8}, () => {
      // Only a connection that stood resets the count, so in and out again is one failure after the other.
      state = onSignal(state, {type: 'ended'})
      return backoffMs(state.failures, 0)
    })
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000])
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
})
