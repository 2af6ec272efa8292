import {describe, expect, test} from 'vitest'
import {nextStep} from '../../runtime/loop/next-step.ts'
import {decide} from '../../runtime/protocol/decide.ts'
import type {DataOf, Event, Kind} from '../../runtime/protocol/event.ts'
import {callsToCarry} from '../../runtime/protocol/migration.ts'
import {fold, repliedEvents, scribe} from '../support/events.ts'

/** A run whose first refund has come so far; `returned` asks to write this result of it. */
function storyAfter(...kinds: Kind[]) {
  const desk = scribe()
  const {names} = desk
  const state = fold([...repliedEvents(desk), ...(kinds.map(kind => desk.event(kind)) as Event[])])
  const returned = (data: Partial<DataOf<'tool.returned'>>) =>
    decide(
      state,
      desk.event('tool.returned', {data: {call: names.first, outcome: 'ok', output: {paid: true}, ...data}}),
    ).refusal
  return {state, names, returned}
}

const executed: Kind[] = ['operation.proposed', 'operation.authorised', 'operation.started', 'operation.executed']

describe('the result of an external call', () => {
  test.each<[string, Kind[], Partial<DataOf<'tool.returned'>>]>([
    ['nobody has proposed', [], {}],
    ['nobody has proposed, as denied', [], {outcome: 'denied', output: null}],
    ['waits for approval', ['operation.proposed', 'approval.requested'], {}],
    ['waits for approval, as an error', ['operation.proposed', 'approval.requested'], {outcome: 'error', output: null}],
    ['waits for approval, as superseded', ['operation.proposed', 'approval.requested'], {outcome: 'superseded'}],
    ['was executed, with another receipt', executed, {output: {paid: 'twice'}}],
    ['was executed, as an error', executed, {outcome: 'error', output: null}],
  ])('[OP-2] that %s is refused from its device', (_, kinds, data) => {
    expect(storyAfter(...kinds).returned(data)).toMatchObject({code: 'refused', owner: 'operation service'})
  })

  test.each<[string, Kind[], Partial<DataOf<'tool.returned'>>]>([
    ['repeats the receipt', executed, {}],
    ['says that it was not proposed', [], {outcome: 'superseded', output: null}],
    ['says what was wrong with its input', [], {outcome: 'error', output: null}],
  ])('[LOG-7] that %s is taken', (_, kinds, data) => expect(storyAfter(...kinds).returned(data)).toBeNull())
})

test('[PIN-3] what was paid is recorded by a build that lacks the version, which then waits visibly', () => {
  const {state, names} = storyAfter(...executed)
  const here = {device: names.device, agents: [], now: 0}
  expect(nextStep(state, here)).toMatchObject({do: 'record-results', apart: true, results: [{outcome: 'ok'}]})
  expect(nextStep(storyAfter('operation.proposed').state, {...here, device: storyAfter().names.device})).toMatchObject({
    do: 'wait',
  })
  expect(callsToCarry(state, state.run!).map(({id}) => id)).not.toContain(names.first)
})
