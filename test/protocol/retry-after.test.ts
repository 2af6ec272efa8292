import {expect, test} from 'vitest'
import {longestRetryAfterMs, retryAfterMs} from '../../runtime/protocol/retry-after.ts'

const now = Date.parse('2026-11-30T12:00:00Z')

test.each<[string, Record<string, unknown>, number | null]>([
  ['seconds', {'retry-after': '120'}, 120_000],
  ['decimal seconds', {'retry-after': '1.5'}, 1500],
  ['zero seconds', {'retry-after': '0'}, 0],
  ['an HTTP date', {'retry-after': 'Mon, 30 Nov 2026 12:02:00 GMT'}, 120_000],
  ['an RFC 850 date', {'retry-after': 'Monday, 30-Nov-26 12:02:00 GMT'}, 120_000],
  ['a date in the past', {'retry-after': 'Mon, 30 Nov 2026 11:00:00 GMT'}, 0],
  ['garbage', {'retry-after': 'soon'}, null],
  ['a negative number', {'retry-after': '-5'}, null],
  ['a huge number', {'retry-after': '999999999999999'}, longestRetryAfterMs],
  ['a number without end', {'retry-after': '9'.repeat(400)}, longestRetryAfterMs],
  ['milliseconds before seconds', {'retry-after-ms': '250', 'retry-after': '7'}, 250],
  ['milliseconds that cannot be read', {'retry-after-ms': 'x', 'retry-after': '7'}, 7000],
  ['a date that cannot be read, with a reset', {'retry-after': '???', 'x-ratelimit-reset-requests': '2s'}, 2000],
  ['capitals', {'Retry-After': '3'}, 3000],
  ['a list of values', {'retry-after': ['4', '5']}, 4000],
  [
    'only the spent limit',
    {
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '6m0.5s',
    },
    360_500,
  ],
  ['limits that are not spent', {'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '1s'}, null],
  ['milliseconds as a duration', {'x-ratelimit-reset-requests': '120ms'}, 120],
  [
    'a reset as a date',
    {'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': '2026-11-30T12:00:09Z'},
    9000,
  ],
  ['a reset in seconds since 1970', {'x-ratelimit-reset': String(now / 1000 + 30)}, 30_000],
  ['a reset in milliseconds since 1970', {'x-ratelimit-reset': String(now + 30_000)}, 30_000],
  ['seconds of the draft standard', {'ratelimit-reset': '12'}, 12_000],
  ['nothing', {}, null],
])('[SYNC-6] %s', (_, headers, expected) => {
  expect(retryAfterMs(headers, now)).toBe(expected)
  const plain = Object.entries(headers).map(([name, value]) => [name, [value].flat()[0]] as [string, string])
  expect(retryAfterMs(new Headers(plain), now)).toBe(expected)
})

test('[SYNC-6] no headers ask for no pause', () => {
  expect(retryAfterMs(undefined, now)).toBeNull()
})
