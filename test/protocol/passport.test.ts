import {describe, expect, test} from 'vitest'
import type {Event, Kind} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import {type Passport, passportOf} from '../../runtime/protocol/passport.ts'
import type {RunStatus} from '../../runtime/protocol/run.ts'
import {confirmed, fold, repliedEvents, scribe} from '../support/events.ts'

type May = Record<keyof Passport['may'], boolean>
const active: May = {
  resume: true,
  retry: false,
  extend: false,
  migrate: true,
  correct: true,
  fork: true,
  cancel: true,
}
const over: May = {...active, resume: false, migrate: false, cancel: false}
const stopped: May = {...active, resume: false}

const table: [RunStatus, Kind[], May][] = [
  ['running', [], active],
  ['waiting_for_tool', ['operation.proposed'], active],
  ['waiting_for_approval', ['operation.proposed', 'approval.requested'], active],
  ['running', ['operation.proposed', 'operation.voided'], active],
  ['failed_retryable', ['run.failed'], {...stopped, retry: true}],
  ['retrying', ['run.failed', 'run.retried'], active],
  ['alerted', ['run.alerted'], {...stopped, extend: true}],
  ['running', ['run.alerted', 'run.extended'], active],
  ['waiting_for_wake', ['run.slept'], active],
  ['running', ['run.migrated'], active],
  ['closed', ['session.closed'], {...over, correct: false}],
  ['closed', ['run.completed', 'session.closed'], {...over, correct: false}],
  ['completed', ['run.completed'], over],
  ['cancelled', ['run.cancelled'], over],
]

function stateAfter(kinds: Kind[], numbered = true) {
  const desk = scribe()
  const events = [...repliedEvents(desk), ...(kinds.map(kind => desk.event(kind)) as Event[])]
  return {desk, state: fold(numbered ? (confirmed(events) as Event[]) : events)}
}

describe('passport', () => {
  test.each(table)('[ID-5] a run that is %s after %j says what is legal, and why', (status, kinds, may) => {
    const passport = passportOf(stateAfter(kinds).state)
    expect(passport?.status).toBe(status)
    expect(Object.fromEntries(Object.entries(passport?.may ?? {}).map(([move, {legal}]) => [move, legal]))).toEqual(may)
    for (const {why} of Object.values(passport?.may ?? {})) expect(why).toMatch(/^[A-Z].{10,}\.$/)
  })

  test('[ID-5] it names pin, custody, checkpoint, open calls, open operations and what only this device has', () => {
    const {desk, state} = stateAfter(['operation.proposed', 'approval.requested'])
    const {names} = desk
    const rejected = [{event: names.message, kind: 'message.posted', reason: 'no'}]
    expect(passportOf(state, {pending: [names.message], rejected}, 4)).toMatchObject({
      session: names.session,
      run: names.run,
      attempt: 1,
      pin: {agent: 'desk', version: '1.0.0'},
      custody: {holder: names.device, epoch: 1},
      lastConfirmed: 4,
      checkpoint: {step: names.step, steps: 1, openCalls: [{tool: 'lookupOrder'}, {tool: 'refundOrder'}, {}]},
      operations: [{id: names.operation, status: 'awaiting_approval', approval: {role: 'approver'}}],
      pending: [names.message],
      rejected,
    })
  })

  test('[ID-5] nothing can be forked before the server has confirmed anything, and it says so', () => {
    expect(passportOf(stateAfter([], false).state)?.may.fork).toMatchObject({legal: false})
  })

  test('[LOG-4] an unreadable event makes resuming illegal and names the event', () => {
    const {desk, state} = stateAfter([])
    const strange = {...desk.event('message.posted'), unreadable: 'kind "goal.closed" is not known'}
    expect(passportOf(evolve(state, strange))?.may.resume).toEqual({
      legal: false,
      why: expect.stringContaining('goal.closed'),
    })
  })

  test('[ID-5] a session without a run has no passport', () => {
    expect(passportOf(fold([scribe().event('session.opened')]))).toBeNull()
  })

  test('[ID-5] [RUN-8] whoever writes into a passport changes no record', () => {
    const {state} = stateAfter(['operation.proposed', 'approval.requested'])
    const before = JSON.stringify(state)
    const passport = passportOf(state)
    Object.assign(passport?.pin.budgets ?? {}, {maxSteps: 1000})
    Object.assign(passport?.custody ?? {}, {epoch: 9})
    Object.assign(passport?.operations[0]?.approval ?? {}, {role: 'anybody'})
    expect(JSON.stringify(state)).toBe(before)
  })
})
