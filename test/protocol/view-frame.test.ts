import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {applyFrame, frameBetween, type HeldView, keepEntries} from '../../runtime/protocol/view-frame.ts'

const entry = fc.record({
  type: fc.constant('message' as const),
  from: fc.constant('person' as const),
  id: fc.constantFrom('evt_1', 'evt_2', 'evt_3', 'evt_4'),
  at: fc.constant(1),
  text: fc.constantFrom('a', 'b'),
  durability: fc.constantFrom({status: 'device'}, {status: 'server', seq: 1}),
})
const view = fc.record({
  session: fc.constant('ses_1'),
  title: fc.option(fc.constantFrom('A', 'B')),
  entries: fc.array(entry, {maxLength: 6}),
  earlier: fc.boolean(),
  streaming: fc.option(fc.record({run: fc.constantFrom('run_1', 'run_2'), text: fc.constantFrom('', 'He', 'Hello')})),
  pending: fc.nat(3),
}) as unknown as fc.Arbitrary<SessionView>

const held = (view: SessionView, revision = '1'): HeldView => ({revision, view})

describe('the frames of a view', () => {
  test('lead a page from any view to any other, whatever was added, changed, moved or dropped', () => {
    fc.assert(
      fc.property(view, view, (before, next) => {
        const frame = frameBetween(held(before), next, '2')
        if (frame === null) expect(next).toEqual(before)
        else expect(applyFrame(held(before), structuredClone(frame))).toEqual(held(next, '2'))
      }),
    )
  })

  test('are not applied to another view than the one they follow, and the whole view always is', () => {
    fc.assert(
      fc.property(view, view, (before, next) => {
        const frame = frameBetween(held(before, '7'), next, '8')
        if (frame) expect(applyFrame(held(before, '6'), frame)).toBeNull()
        if (frame) expect(applyFrame(null, frame)).toBeNull()
        expect(applyFrame(null, {revision: '8', view: next})).toEqual(held(next, '8'))
      }),
    )
  })

  test('are built without reading the texts of entries that are the same objects', () => {
    const unread = {...fc.sample(entry, 1)[0]!, toJSON: () => expect.fail('the entry was read')}
    const before = {...fc.sample(view, 1)[0]!, entries: [unread], streaming: null} as unknown as SessionView
    const next = {...before, streaming: {run: 'run_1', text: 'Hello'}} as unknown as SessionView
    expect(frameBetween(held(before), next, '2')).toMatchObject({fields: {}, streaming: {now: {text: 'Hello'}}})
  })

  test('an entry that is read again and has not changed is the same object', () => {
    fc.assert(
      fc.property(view, view, (before, next) => {
        const kept = keepEntries(before.entries, structuredClone(next.entries))
        expect(kept).toEqual(next.entries)
        for (const entry of kept) {
          const equal = before.entries.filter(one => JSON.stringify(one) === JSON.stringify(entry))
          if (equal.length > 0) expect(equal.includes(entry)).toBe(true)
        }
      }),
    )
  })

  test('cost the size of the change: a streamed word, a new entry', () => {
    const [first] = fc.sample(view, 1)
    const long = Array.from({length: 100}, (_, i) => ({
      ...fc.sample(entry, 1)[0]!,
      id: `evt_${i}`,
      text: 'x'.repeat(10_000),
    }))
    const before = {
      ...first!,
      entries: long,
      streaming: {run: 'run_1', text: 'x'.repeat(100_000)},
    } as unknown as SessionView
    const word = {...before, streaming: {run: 'run_1', text: `${'x'.repeat(100_000)} word`}} as unknown as SessionView
    expect(JSON.stringify(frameBetween(held(before), word, '2')).length).toBeLessThan(200)
    const more = {...before, entries: [...long, {...long[0]!, id: 'evt_new', text: 'new'}]} as unknown as SessionView
    expect(JSON.stringify(frameBetween(held(before), more, '2')).length).toBeLessThan(2_000)
  })

  test('leave entries that have not changed the objects that they were', () => {
    const [first] = fc.sample(view, 1)
    const entries = fc.sample(entry, 3).map((one, i) => ({...one, id: `evt_${i}`}))
    const before = {...first!, entries} as unknown as SessionView
    const next = {
      ...before,
      entries: [...structuredClone(entries), {...entries[0]!, id: 'evt_9'}],
    } as unknown as SessionView
    const frame = frameBetween(held(before), next, '2')!
    expect(applyFrame(held(before), frame)?.view.entries[0]).toBe(before.entries[0])
  })
})
