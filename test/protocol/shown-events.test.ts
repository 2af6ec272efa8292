import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {EventId} from '../../runtime/protocol/ids.ts'
import type {Manifest} from '../../runtime/protocol/manifest.ts'
import {namesOf, shownEvents} from '../../runtime/protocol/shown-events.ts'
import {manifest} from '../support/events.ts'

const ids = Array.from({length: 200}, () => env.id('event'))
const step = env.id('event')

function there(events: readonly EventId[], earlier: readonly EventId[]) {
  const named = namesOf(events, {step, events: earlier})
  const whole = manifest([], [...earlier]) as Manifest
  const shown = shownEvents({...(manifest([]) as Manifest), ...named}, id => (id === step ? whole : undefined))
  return {named, shown}
}

describe('the events of a view, named by an earlier step', () => {
  test('[VIEW-2] whatever both have in common, exactly the same events are found again, in the same order', () => {
    const list = fc.uniqueArray(fc.nat({max: 30}), {maxLength: 30}).map(places => places.map(place => ids[place]!))
    fc.assert(
      fc.property(list, list, (earlier, events) => {
        expect(there(events, earlier).shown).toEqual(events)
      }),
    )
  })

  test('[VIEW-2] a window that slides, also behind the message that a long turn began with, is told in few words', () => {
    const slides = fc.record({
      opening: fc.boolean(),
      gone: fc.integer({min: 0, max: 60}),
      tail: fc.integer({min: 0, max: 24}),
    })
    fc.assert(
      fc.property(slides, ({opening, gone, tail}) => {
        const earlier = ids.slice(0, 100)
        const [first] = earlier
        const events = [...(opening && first ? [first] : []), ...ids.slice(1 + gone, 100 + tail)]
        const {named, shown} = there(events, earlier)
        expect(shown).toEqual(events)
        expect(named.events).toHaveLength(tail)
      }),
    )
  })

  test('[VIEW-2] [VIEW-4] a manifest stays short for as long as a run goes on, and one that names all is one lookup away', () => {
    let earlier: {step: EventId; events: readonly EventId[]} | null = null
    const lengths: number[] = []
    for (let shown = 100; shown < 200; shown += 2) {
      const events = ids.slice(0, shown)
      const named = namesOf(events, earlier)
      lengths.push(named.events.length)
      if (named.continues) expect(named.continues.step).toBe(earlier?.step)
      else earlier = {step: env.id('event'), events}
    }
    expect(lengths.filter(length => length > 24)).toHaveLength(4)
    expect(lengths.filter(length => length <= 24)).toHaveLength(46)
  })

  test('[VIEW-2] a step that is not there, or that goes on from another itself, gives no list instead of a wrong one', () => {
    const continuing = {...(manifest([]) as Manifest), continues: {step, from: 0, to: 0}}
    expect(shownEvents(continuing, () => undefined)).toBeNull()
    expect(shownEvents(continuing, () => continuing)).toBeNull()
  })
})
