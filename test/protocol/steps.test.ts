import {describe, expect, test} from 'vitest'
import {decide} from '../../runtime/protocol/decide.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {sameJson} from '../../runtime/protocol/json.ts'
import {call, cast, fold, manifest, repliedEvents, scribe} from '../support/events.ts'

function story() {
  const desk = scribe()
  const {names, event, data} = desk
  const events = repliedEvents(desk)
  const result = (id: typeof names.read) =>
    event('tool.returned', {data: {call: id, outcome: 'ok', output: null}}) as Event
  const results = [names.read, names.first, names.second].map(result)
  const step = cast().step
  const secondStep = event('step.prepared', {step, data: {number: 2, manifest: manifest([])}})
  const reply = (content: (typeof data)['model.replied']['content'], at = step) =>
    event('model.replied', {step: at, data: {...data['model.replied'], content}})
  return {...desk, events, results, secondStep, step, reply}
}
const text = {type: 'text', text: 'Done.'} as const

describe('a step', () => {
  test('[LOG-7] no view is prepared while a call has no result', () => {
    const {names, events, results, secondStep} = story()
    const {refusal} = decide(fold([...events, ...results.slice(0, 2)]), secondStep)
    expect(refusal).toMatchObject({met: `call ${names.second} without a result`, legal: [`answer ${names.second}`]})
    expect(decide(fold([...events, ...results]), secondStep).refusal).toBeNull()
  })

  test('[CUS-1] a reply to a step that was refused is refused, though its own epoch is current', () => {
    const {events, results, reply} = story()
    const state = fold([...events, ...results])
    expect(decide(state, reply([text])).refusal?.met).toBe('no step under this id that waits for a reply')
  })

  test('[LOG-7] a step takes one reply', () => {
    const {events, results, secondStep, reply} = story()
    const state = fold([...events, ...results, secondStep])
    expect(decide(state, reply([text])).refusal).toBeNull()
    expect(decide(fold([reply([text])], state), reply([text])).refusal?.met).toContain('no step')
  })

  test('[RUN-1] a run finishes only after the last word of its model, and never over an open call', () => {
    const {event, events, results, secondStep, reply} = story()
    const finished = () => event('run.completed', {data: {outcome: 'finished'}})
    const partial = () => event('run.completed')
    expect(decide(fold(events), partial()).refusal?.met).toContain('without a result')
    const waiting = fold([...events, ...results, secondStep])
    expect(decide(waiting, finished()).refusal?.met).toBe('a run whose model has not had its last word')
    expect(decide(waiting, partial()).refusal).toBeNull()
    expect(decide(fold([reply([text])], waiting), finished()).refusal).toBeNull()
  })
})

describe('a call id', () => {
  test('[LOG-7] that one reply gives to two calls is refused', () => {
    const {events, results, secondStep, reply} = story()
    const {read} = cast()
    const twice = reply([call(read, 'lookupOrder'), call(read, 'saveNote')])
    expect(decide(fold([...events, ...results, secondStep]), twice).refusal?.met).toContain('made before')
  })

  test('[OP-3] that an operation of an earlier run still belongs to is refused', () => {
    const {names, event, events, reply} = story()
    const run = cast().run
    const step = cast().step
    const earlier = fold([
      ...events,
      event('operation.proposed'),
      event('operation.authorised'),
      event('operation.started'),
      event('run.cancelled'),
      event('run.started', {run}),
      ...[names.read, names.first, names.second].map(id =>
        event('tool.returned', {run, data: {call: id, outcome: 'aborted', output: null}}),
      ),
      event('step.prepared', {run, step}),
    ] as Event[])
    const reused = {...reply([call(names.first, 'refundOrder')], step), run}
    expect(decide(earlier, reused).refusal?.met).toBe(`call ${names.first}, which was made before`)
  })
})

describe('a proposal', () => {
  const other = story()
  test.each([
    ['another tool', {tool: 'saveNote'}],
    ['another input', {input: {orderId: 'A17', cents: 890_000}}],
    ['a call of a tool that has no outside effect', {call: other.names.read, tool: 'lookupOrder'}],
  ])('[OP-2] of %s than the model called is refused', (_, change) => {
    const {event, events, data} = other
    const proposal = event('operation.proposed', {data: {...data['operation.proposed'], ...change}})
    expect(decide(fold(events), proposal).refusal?.met).toContain('that is another')
  })

  test('[OP-2] may name the fields of its input in any order', () => {
    const {event, events, data} = story()
    const input = {cents: 8900, orderId: 'A17'}
    const proposal = event('operation.proposed', {data: {...data['operation.proposed'], input}})
    expect(decide(fold(events), proposal).refusal).toBeNull()
  })
})

test.each([
  [{a: [1, {b: null}], c: ''}, {c: '', a: [1, {b: null}]}, true],
  [[1, 2], [2, 1], false],
  [[], {}, false],
  [{a: 1}, {a: 1, b: 1}, false],
  [{a: 1}, {b: 1}, false],
  [null, {}, false],
  ['1', 1, false],
])('[OP-2] %j and %j are the same JSON: %s', (a, b, same) => {
  expect(sameJson(a, b)).toBe(same)
})

test('[LOG-3] an event that was refused stays refused once its device has gone on, although the state would now take it', () => {
  const {event, events} = story()
  const refused = event('run.retried')
  expect(decide(fold(events), refused).refusal?.met).toContain('running')
  const later = event('message.posted')
  const failed = fold([...events, later, event('run.failed', {device: null, deviceSeq: null})])
  expect(decide(failed, refused).refusal?.met).toContain('which was written after it')
  expect(decide(failed, event('run.retried')).refusal).toBeNull()
})
