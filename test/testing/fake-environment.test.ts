import {describe, expect, test} from 'vitest'
import {sessionIdSchema} from '../../runtime/protocol/ids.ts'
import {fakeClock, fakeEnvironment} from '../../runtime/testing.ts'

describe('an environment without chance', () => {
  test('[ID-2] its ids are real ones, the same for a seed and never the same for two', () => {
    const ids = (seed: string) => {
      const environment = fakeEnvironment({seed})
      return Array.from({length: 2000}, () => environment.id('session'))
    }
    const laptop = ids('laptop')
    expect(laptop.every(id => sessionIdSchema.safeParse(id).success)).toBe(true)
    expect(ids('laptop')).toEqual(laptop)
    expect(new Set([...laptop, ...ids('laptop 2'), ...ids('')]).size).toBe(6000)
  })

  test('[LOG-2] its time moves when it is told to, for all who share it, and never by less than nothing', () => {
    const clock = fakeClock(1000)
    const [a, b] = [fakeEnvironment({seed: 'a', clock}), fakeEnvironment({seed: 'b', clock})]
    clock.advance(500)
    expect([a.now(), b.now(), a.clock.now()]).toEqual([1500, 1500, 1500])
    clock.set(10)
    expect(b.now()).toBe(10)
    expect(() => clock.advance(-1)).toThrow('expected milliseconds of 0 or more, got -1')
    expect(() => clock.advance(Number.NaN)).toThrow('advance')
  })

  test('its jitter lies between 0 and 1 and is spread evenly', () => {
    const environment = fakeEnvironment({seed: 'jitter'})
    const tenths = new Array<number>(10).fill(0)
    for (let i = 0; i < 5000; i++) {
      const tenth = Math.floor(environment.random() * 10)
      tenths[tenth] = (tenths[tenth] ?? Number.NaN) + 1
    }
    for (const count of tenths) expect(count).toBeGreaterThan(350)
  })
})
