import {expect, test} from 'vitest'
import {clockInDoubt} from '../../sync-server/clock.ts'
import {serverEnvironment} from '../../sync-server/environment.ts'

test.each([
  [
    'time that passes',
    [
      [60_000, 60_000],
      [3_600_000, 3_600_000],
    ],
    [false, false],
  ],
  [
    'drift',
    [
      [60_000, 59_000],
      [60_000, 61_000],
    ],
    [false, false],
  ],
  [
    'a jump ahead, which holds for ten minutes',
    [
      [86_400_000, 5000],
      [5000, 5000],
      [600_000, 600_000],
    ],
    [true, true, false],
  ],
  [
    'a jump back',
    [
      [-86_400_000, 5000],
      [600_000, 600_000],
    ],
    [true, false],
  ],
])('of %s the clock is in doubt only after a jump', (_name, steps, expected) => {
  let [wall, monotonic] = [1_000_000_000_000, 50]
  const inDoubt = clockInDoubt({...serverEnvironment, now: () => wall}, () => monotonic)
  expect(inDoubt()).toBe(false)
  const said = steps.map(([more = 0, passed = 0]) => {
    wall += more
    monotonic += passed
    return inDoubt()
  })
  expect(said).toEqual(expected)
})

test('without a monotonic clock it is never in doubt', () => {
  let wall = 0
  const inDoubt = clockInDoubt({...serverEnvironment, now: () => (wall += 86_400_000)}, null)
  expect([inDoubt(), inDoubt()]).toEqual([false, false])
})
