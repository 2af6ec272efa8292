import {describe, expect, test} from 'vitest'
import {decide} from '../../runtime/protocol/decide.ts'
import type {DataOf, Event, Kind} from '../../runtime/protocol/event.ts'
import type {PinnedTool} from '../../runtime/protocol/tool.ts'
import {fold, pin, repliedEvents, type Scribe, scribe} from '../support/events.ts'
import {pinnedTool} from '../support/pin.ts'

const [lookup, note, refund] = pin.tools as [PinnedTool, PinnedTool, PinnedTool]

type Move = Partial<DataOf<'run.migrated'>['to']> & {checked?: PinnedTool[]}

/** A run with an open read and two open refunds is asked to move. */
function moved({names, data, event}: Scribe, {checked = [], ...to}: Move) {
  const calls = {lookupOrder: [names.read], refundOrder: [names.first, names.second]} as Record<
    string,
    (typeof names.read)[]
  >
  const checks = checked.flatMap(({name, hash}) => (calls[name] ?? []).map(call => ({call, hash})))
  return event('run.migrated', {
    data: {...data['run.migrated'], to: {...data['run.migrated'].to, ...to}, checked: checks},
  })
}

describe('a run is moved to another version', () => {
  const newer = pinnedTool('refundOrder', 'external', '2')
  const table: [string, Move, string | null][] = [
    ['with the same tools', {}, null],
    ['that lost a tool nobody calls', {tools: [lookup, refund]}, null],
    [
      'that lost a tool with an open call',
      {tools: [note, refund]},
      '"lookupOrder", a tool that version 2.0.0 does not have',
    ],
    ['with a newer contract, checked', {tools: [lookup, note, newer], checked: [newer]}, null],
    ['with a newer contract, unchecked', {tools: [lookup, note, newer]}, 'not checked against version 2'],
    ['with a newer contract, checked by another', {tools: [lookup, note, newer], checked: [refund]}, 'not checked'],
    [
      'with another contract under the same version',
      {tools: [lookup, note, {...refund, hash: newer.hash}], checked: [newer]},
      'under the same version 1',
    ],
    ['with another effect', {tools: [lookup, note, {...refund, effect: 'local'}]}, 'would turn from external to local'],
    ['that it has already', {version: '1.0.0', toolsHash: pin.toolsHash}, 'version 1.0.0, which the run has already'],
    [
      'that it has already, with another model',
      {version: '1.0.0', toolsHash: pin.toolsHash, model: {label: 'other'}},
      null,
    ],
  ]
  test.each(table)('[PIN-3] %s', (_, to, met) => {
    const desk = scribe()
    const {refusal} = decide(fold(repliedEvents(desk)), moved(desk, to))
    if (met === null) return expect(refusal).toBeNull()
    expect(refusal).toMatchObject({asked: 'run.migrated', owner: 'user', met: expect.stringContaining(met)})
    expect(refusal?.legal).toContain('run.cancelled')
  })

  test('[PIN-3] calls that have their result bind it no more', () => {
    const desk = scribe()
    const state = fold([...repliedEvents(desk), desk.event('tool.returned')])
    expect(decide(state, moved(desk, {tools: [note, refund]})).refusal).toBeNull()
  })

  test('[PIN-3] [OP-2] what was proposed before keeps the version it was proposed under', () => {
    const desk = scribe()
    const before = fold([...repliedEvents(desk), desk.event('operation.proposed'), desk.event('approval.requested')])
    const after = fold([moved(desk, {tools: [lookup, note, newer], checked: [newer]})], before)
    expect(after.operations).toEqual(before.operations)
    expect(after.calls).toEqual(before.calls)
    expect(after.run?.pin).toMatchObject({version: '2.0.0', agent: 'desk', budgets: pin.budgets, route: pin.route})
  })

  test('[PIN-3] [VIEW-2] a view that was prepared under the old version is prepared again', () => {
    const desk = scribe()
    const prepared = fold(repliedEvents(desk).slice(0, 4))
    const {run} = fold([moved(desk, {})], prepared)
    expect([run?.step, run?.steps]).toEqual([null, 1])
  })

  test.each<Kind>(['run.completed', 'run.cancelled', 'session.closed'])('[RUN-9] after %s nothing is moved', kind => {
    const desk = scribe()
    const state = fold([...repliedEvents(desk), desk.event(kind) as Event])
    expect(decide(state, moved(desk, {})).refusal).toMatchObject({
      met: expect.stringMatching(/completed|cancelled|closed/),
    })
  })
})

describe('a session is closed', () => {
  test.each<Kind>(['message.posted', 'run.started', 'run.retried', 'session.closed'])(
    '[RUN-1] it takes no %s',
    kind => {
      const desk = scribe()
      const state = fold([...repliedEvents(desk), desk.event('run.completed'), desk.event('session.closed')])
      expect(decide(state, desk.event(kind) as Event).refusal?.met).toContain('closed')
    },
  )
})
