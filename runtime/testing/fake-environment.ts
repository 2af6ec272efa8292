import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {formatId} from '../protocol/ids.ts'

/** A clock that moves only when it is advanced or set. Several environments may share it. */
export interface FakeClock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds that `advance` has added in all. `set` does not change it. */
  elapsed(): number
  /** Moves the clock forward by `ms`. Use `set` to move it back. */
  advance(ms: number): void
  set(now: number): void
}

/**
 * A clock for tests.
 *
 * @throws HoldfastError `bad_input` for a negative number of milliseconds
 * @example
 * const clock = fakeClock()
 * clock.advance(60_000)
 */
export function fakeClock(start = Date.UTC(2026, 0, 1)): FakeClock {
  let time = start
  let elapsed = 0
  return {
    now: () => time,
    elapsed: () => elapsed,
    advance: ms => {
      if (!(ms >= 0)) throw new HoldfastError('bad_input', `advance: expected milliseconds of 0 or more, got ${ms}`)
      time += ms
      elapsed += ms
    },
    set: now => {
      time = now
    },
  }
}

/**
 * A deterministic `Environment`: the test moves its clock, and a seed gives the same ids and the same jitter every time.
 * Use a different seed per device, because ids must be unique.
 *
 * @example
 * const environment = fakeEnvironment({seed: 'laptop'})
 * const first = environment.id('session') // the same in every run
 */
export function fakeEnvironment(options: {seed: string; clock?: FakeClock}): Environment & {clock: FakeClock} {
  const clock = options.clock ?? fakeClock()
  const next = numbers(options.seed)
  return {
    clock,
    now: () => clock.now(),
    elapsed: () => clock.elapsed(),
    id: name => formatId(name, uuid(clock.now(), next)),
    random: () => next() / 2 ** 32,
  }
}

function uuid(time: number, next: () => number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  const stamp = hex(time, 12)
  const [a, b, c] = [next(), next(), next()]
  const version = `7${hex(a >>> 20, 3)}`
  const variant = hex(0x8000 | (b >>> 18), 4)
  return `${stamp.slice(0, 8)}-${stamp.slice(8)}-${version}-${variant}-${hex(c, 8)}${hex(a & 0xffff, 4)}`
}

/** Whole numbers below 2³², spread evenly; 128 bits of state, or seeds that differ could soon meet. */
function numbers(seed: string): () => number {
  let state = [1779033703, 3144134277, 1013904242, 2773480762]
  for (const character of seed) {
    const code = character.codePointAt(0) ?? 0
    state = state.map((word, i) => Math.imul((state[(i + 1) % 4] ?? 0) ^ word ^ code, 2654435761 + 2 * i) >>> 0)
  }
  let [a = 0, b = 0, c = 0, counter = 0] = state
  const step = () => {
    const sum = (a + b + counter) >>> 0
    counter = (counter + 1) >>> 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) >>> 0
    c = ((c << 21) | (c >>> 11)) + sum
    return sum
  }
  for (let i = 0; i < 12; i++) step()
  return step
}
