import {describe, expect, test} from 'vitest'
import {SilenceWatch, silence} from '../../runtime/platform/silence.ts'

/** A watch that was ticked every second up to `seconds`, having heard the owner at `heard`. */
function watched(seconds: number, heard: number[] = []): SilenceWatch {
  const watch = new SilenceWatch(0)
  for (let second = 1; second < seconds; second++) {
    if (heard.includes(second)) watch.heard(second * 1_000)
    watch.tick(second * 1_000)
  }
  return watch
}

describe('an owner of the database that does not answer', () => {
  test('[CUS-2] is named within seconds and given up some seconds later', () => {
    expect(watched(2).tick(2_000)).toEqual({since: 0, state: 'answers'})
    expect(watched(4).tick(silence.namedMs + 1_000)).toEqual({since: 0, state: 'silent'})
    expect(watched(11).tick(silence.takenOverMs + 1_000)).toEqual({since: 0, state: 'given_up'})
  })

  test('[CUS-2] one that answers in between is not given up', () => {
    expect(watched(11, [9]).tick(11_000)).toEqual({since: 9_000, state: 'answers'})
  })

  test('[CUS-2] a tab that slept blames nobody', () => {
    expect(watched(3).tick(3_600_000)).toEqual({since: 3_600_000, state: 'answers'})
  })
})
