import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {decide} from '../../runtime/protocol/decide.ts'
import {foldSlots, patchSlots, type Slots, slotsPatch} from '../../runtime/protocol/slots.ts'
import {cast, fold, repliedEvents, scribe} from '../support/events.ts'

/** The examples of RFC 7386, appendix A, that start from an object. */
const rfc: [Slots, Slots, Slots][] = [
  [{a: 'b'}, {a: 'c'}, {a: 'c'}],
  [{a: 'b'}, {b: 'c'}, {a: 'b', b: 'c'}],
  [{a: 'b'}, {a: null}, {}],
  [{a: 'b', b: 'c'}, {a: null}, {b: 'c'}],
  [{a: ['b']}, {a: 'c'}, {a: 'c'}],
  [{a: 'c'}, {a: ['b']}, {a: ['b']}],
  [{a: {b: 'c'}}, {a: {b: 'd', c: null}}, {a: {b: 'd'}}],
  [{a: [{b: 'c'}]}, {a: [1]}, {a: [1]}],
  [{e: null as never}, {a: 1}, {e: null as never, a: 1}],
  [{}, {a: {bb: {ccc: null}}}, {a: {bb: {}}}],
]

const json = fc.letrec(tie => ({
  value: fc.oneof({maxDepth: 3}, fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer()), tie('object')),
  object: fc.dictionary(
    fc.string({maxLength: 3}).filter(key => key !== '__proto__'),
    tie('value'),
    {maxKeys: 5},
  ),
}))
const slots = json.object as fc.Arbitrary<Slots>

describe('slots', () => {
  test.each(rfc)('[WRK-1] %j patched with %j is %j, as the RFC says', (before, patch, after) => {
    expect(patchSlots(before, patch)).toEqual(after)
  })

  test('[WRK-1] the patch between any two states leads from one to the other, and changes neither', () => {
    fc.assert(
      fc.property(slots, slots, (before, after) => {
        const copy = structuredClone(before)
        const patch = slotsPatch(before, after)
        expect(patch === null ? before : patchSlots(before, patch)).toEqual(after)
        expect(before).toEqual(copy)
      }),
    )
  })

  test('[WRK-1] change with events of the step under way, under its epoch, and with no others', () => {
    const desk = scribe()
    const state = fold([...repliedEvents(desk), desk.event('slots.patched')])
    expect(state.slots).toEqual({order: 'A17'})
    const patched = (extra: object) => decide(state, desk.event('slots.patched', extra)).refusal
    expect(patched({})).toBeNull()
    expect(patched({device: desk.names.other, deviceSeq: 1})?.code).toBe('stale_epoch')
    expect(patched({step: cast().step})?.met).toContain('another step')
    expect(patched({run: cast().run})?.met).toBe('another run')
  })

  test('[WRK-1] that would grow over their limit are refused by size, and stay as they are', () => {
    const desk = scribe()
    const half = {data: {patch: {a: 'x'.repeat(9000)}}}
    const state = fold([...repliedEvents(desk), desk.event('slots.patched', half)])
    const {refusal} = decide(state, desk.event('slots.patched', {data: {patch: {b: 'x'.repeat(9000)}}}))
    expect(refusal).toMatchObject({
      code: 'bad_input',
      legal: expect.arrayContaining([expect.stringContaining('16384')]),
    })
    expect(decide(state, desk.event('slots.patched', {data: {patch: {a: null, b: 'x'}}})).refusal).toBeNull()
  })

  test('[WRK-1] are the same however they are folded: beside the log, or from the log alone', () => {
    fc.assert(
      fc.property(fc.array(slots, {maxLength: 6}), patches => {
        const desk = scribe()
        const events = [...repliedEvents(desk), ...patches.map(patch => desk.event('slots.patched', {data: {patch}}))]
        expect(foldSlots(events)).toEqual(fold(events).slots)
      }),
    )
  })

  test('[WRK-3] a fork begins with what its first event carries, and a new session with none', () => {
    const desk = scribe()
    expect(fold([desk.event('session.forked')]).slots).toEqual({order: 'A17'})
    expect(fold([desk.event('session.opened')]).slots).toEqual({})
  })
})
