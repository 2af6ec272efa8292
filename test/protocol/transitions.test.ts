import {describe, expect, test} from 'vitest'
import {decide} from '../../runtime/protocol/decide.ts'
import {type Event, isKind, type Kind} from '../../runtime/protocol/event.ts'
import type {OperationStatus} from '../../runtime/protocol/operation.ts'
import {operationTransitions} from '../../runtime/protocol/operation.ts'
import {type RunStatus, type RunTransition, runTransitions} from '../../runtime/protocol/run.ts'
import {sessionStatus} from '../../runtime/protocol/session.ts'
import {type SessionTransition, sessionTransitions} from '../../runtime/protocol/session-transitions.ts'
import {cast, dataOf, fold, repliedEvents, type Scribe, scribe} from '../support/events.ts'

/** How a session comes to each status, after a reply with calls that are still open. */
const waysToRun: [RunStatus, Kind[]][] = [
  ['running', []],
  ['waiting_for_tool', ['operation.proposed']],
  ['waiting_for_approval', ['operation.proposed', 'approval.requested']],
  ['waiting_for_wake', ['run.slept']],
  ['retrying', ['run.failed', 'run.retried']],
  ['failed_retryable', ['run.failed']],
  ['alerted', ['run.alerted']],
  ['failed_final', ['run.failed']],
  ['completed', ['run.completed']],
  ['cancelled', ['run.cancelled']],
  ['closed', ['session.closed']],
]

/** How much of the story a kind needs behind it: a running run takes it only between its neighbours. */
const storyBefore: Partial<Record<Kind, number>> = {
  'step.prepared': 3,
  'view.compacted': 3,
  'run.completed': 3,
  'model.replied': 4,
  'view.refused': 4,
}

function sessionAt(status: RunStatus, way: Kind[], next?: Kind): {desk: Scribe; events: Event[]} {
  const desk = scribe()
  const length = next && ['running', 'retrying'].includes(status) ? storyBefore[next] : undefined
  if (status === 'new') return {desk, events: [desk.event('session.opened')]}
  const further = way.map(kind =>
    kind === 'run.failed'
      ? desk.event(kind, {data: {...desk.data[kind], retryable: status !== 'failed_final'}})
      : desk.event(kind),
  )
  return {desk, events: [...repliedEvents(desk).slice(0, length), ...(further as Event[])]}
}

const active: RunStatus[] = ['running', 'retrying', 'waiting_for_tool', 'waiting_for_approval']
const stoppable: RunStatus[] = [...active, 'waiting_for_wake', 'failed_retryable', 'alerted']

/** RUN-1, written out: which event is legal from which status. A new run may start whenever none is active. */
const legal: Record<RunTransition, RunStatus[]> = {
  'run.started': ['new', 'failed_retryable', 'failed_final', 'alerted', 'completed', 'cancelled'],
  'run.resumed': [...active, 'waiting_for_wake'],
  'step.prepared': ['running', 'retrying'],
  'model.replied': ['running', 'retrying'],
  'tool.called': active,
  'tool.returned': active,
  'operation.proposed': active,
  'slots.patched': active,
  'view.compacted': ['running', 'retrying'],
  'view.refused': ['running', 'retrying'],
  'run.slept': ['running', 'retrying'],
  'run.woken': ['waiting_for_wake'],
  'run.completed': ['running', 'retrying'],
  'run.failed': active,
  'run.alerted': active,
  'run.cancelled': stoppable,
  'run.retried': ['failed_retryable'],
  'run.extended': ['alerted'],
  'run.migrated': stoppable,
  'session.closed': ['new', ...stoppable, 'failed_final', 'completed', 'cancelled'],
}

describe('sessions', () => {
  test('[RUN-1] every kind of event stands in exactly one table, under its one owner', () => {
    const tables = [sessionTransitions, runTransitions, operationTransitions]
    const rows = tables.flatMap(table => Object.keys(table))
    expect(rows.toSorted()).toEqual(Object.keys(dataOf(cast())).toSorted())
    expect(rows.every(isKind)).toBe(true)
  })

  const kinds = Object.keys(sessionTransitions) as SessionTransition[]
  const table = kinds.flatMap(kind => (['unopened', 'open'] as const).map(status => [kind, status] as const))
  test.each(table)('[RUN-1] [RUN-9] %s meets a session that is %s', (kind, status) => {
    const desk = scribe()
    const state = {...fold(status === 'open' ? [desk.event('session.opened')] : []), head: 1}
    const {from, owner}: {from: readonly string[]; owner: string} = sessionTransitions[kind]
    // Custody is assumed by a device that does not hold it.
    const extra = kind === 'custody.assumed' ? {device: desk.names.other} : {}
    const {refusal} = decide(state, desk.event(kind, extra))
    if (from.includes(status)) return expect(refusal).toBeNull()
    const met = status === 'open' ? 'a session that is already open' : 'a session that has not been opened'
    expect(refusal).toMatchObject({
      code: 'refused',
      asked: kind,
      met,
      legal: expect.arrayContaining([expect.any(String)]),
    })
    // Whoever owns the event, opening a session is its user's.
    expect(refusal?.owner).toBe(status === 'open' ? owner : sessionTransitions['session.opened'].owner)
  })
})

describe('runs', () => {
  const ways: [RunStatus, Kind[]][] = [['new', []], ...waysToRun]
  const table = ways.flatMap(([status, way]) =>
    (Object.keys(runTransitions) as RunTransition[]).map(kind => [kind, status, way] as const),
  )

  test.each(table)('[RUN-1] %s meets a run that is %s', (kind, status, way) => {
    const {desk, events} = sessionAt(status, [...way], kind)
    const state = fold(events)
    expect(sessionStatus(state)).toBe(status)
    const names = {...desk.names, operation: desk.names.operation}
    const data =
      kind === 'operation.proposed'
        ? {
            ...desk.data[kind],
            call: names.second,
            operation: names.operation.replace(/.$/, '0') as typeof names.operation,
          }
        : desk.data[kind]
    const {refusal} = decide(state, desk.event(kind, {data, ...(status === 'retrying' && {attempt: 2})}))
    if (legal[kind].includes(status)) return expect(refusal).toBeNull()
    expect(refusal).toMatchObject({code: 'refused', asked: kind, owner: runTransitions[kind].owner})
    expect(refusal?.met).toMatch(status === 'new' ? /new|run/ : new RegExp(status))
    expect(refusal?.legal).not.toContain(kind)
  })

  const wrongly: [string, Kind, object, string, string][] = [
    ['under an older epoch', 'step.prepared', {epoch: 7}, 'stale_epoch', 'epoch 1 held by this device'],
    ['from a device without custody', 'step.prepared', {device: 'other'}, 'stale_epoch', 'held by another device'],
    ['without an epoch', 'step.prepared', {epoch: undefined}, 'refused', 'no epoch'],
    ['without a run', 'step.prepared', {run: undefined}, 'refused', 'no run named'],
    ['for another run', 'step.prepared', {run: 'other'}, 'refused', 'another run'],
    ['for an earlier attempt', 'step.prepared', {attempt: 2}, 'refused', 'attempt 1'],
    ['for a call that is not open', 'tool.returned', {data: 'unknown call'}, 'refused', 'no open call'],
  ]
  test.each(wrongly)('[CUS-1] an event %s is refused by name', (_, kind, change, code, met) => {
    const {desk, events} = sessionAt('running', [])
    const other = scribe()
    const extra = Object.fromEntries(
      Object.entries(change).map(([key, value]) => {
        if (key === 'device') return [key, desk.names.other]
        if (key === 'run') return [key, value && other.names.run]
        return key === 'data' ? [key, {...desk.data['tool.returned'], call: other.names.read}] : [key, value]
      }),
    )
    const envelope = Object.fromEntries(
      Object.entries(desk.envelope(kind, extra)).filter(([, value]) => value !== undefined),
    )
    expect(decide(fold(events), envelope as unknown as Event).refusal).toMatchObject({
      code,
      met: expect.stringContaining(met),
    })
  })

  test('[OP-3] a second operation for a call that has one is refused, whatever its id', () => {
    const {desk, events} = sessionAt('waiting_for_tool', ['operation.proposed'])
    const second = desk.event('operation.proposed', {
      data: {...desk.data['operation.proposed'], operation: desk.names.operation.replace(/.$/, '0') as never},
    })
    expect(decide(fold(events), second).refusal?.met).toContain('for the same call')
  })

  test('[RUN-4] a proposal made from a view without the newest message is refused, and names the way out', () => {
    const {desk, events} = sessionAt('running', [])
    const corrected = fold([...events, desk.event('message.posted')])
    const {refusal} = decide(corrected, desk.event('operation.proposed'))
    expect(refusal).toMatchObject({
      met: 'a newer instruction that no step has seen',
      legal: ['answer the call as superseded'],
    })
  })

  test.each<Kind>(['message.posted', 'document.updated', 'run.started', 'run.cancelled'])(
    '[RUN-9] %s in a session that nobody has opened is refused',
    kind => {
      expect(decide(fold([]), scribe().event(kind)).refusal?.legal).toEqual(['session.opened', 'session.forked'])
    },
  )

  test.each<Kind>(['session.opened', 'session.forked'])('[RUN-9] %s cannot open a session twice', kind => {
    const {desk, events} = sessionAt('running', [])
    expect(decide(fold(events), desk.event(kind)).refusal?.met).toContain('already open')
  })
})

describe('operations', () => {
  const ways: Record<OperationStatus, Kind[]> = {
    proposed: [],
    awaiting_approval: ['approval.requested'],
    authorised: ['operation.authorised'],
    started: ['operation.authorised', 'operation.started'],
    uncertain: ['operation.authorised', 'operation.started', 'operation.uncertain'],
    executed: ['operation.authorised', 'operation.started', 'operation.executed'],
    failed: ['operation.authorised', 'operation.started', 'operation.failed'],
    refused: ['operation.refused'],
    rejected: ['approval.requested', 'approval.rejected'],
    expired: ['approval.requested', 'approval.expired'],
    voided: ['operation.voided'],
  }
  const legalFrom: Record<string, OperationStatus[]> = {
    'operation.refused': ['proposed', 'awaiting_approval', 'authorised'],
    'operation.authorised': ['proposed'],
    'approval.requested': ['proposed'],
    'approval.endorsed': [],
    'approval.granted': ['awaiting_approval'],
    'approval.rejected': ['awaiting_approval'],
    'approval.escalated': ['awaiting_approval'],
    'approval.expired': ['awaiting_approval'],
    'operation.started': ['authorised'],
    'operation.executed': ['started', 'uncertain'],
    'operation.failed': ['started', 'uncertain'],
    'operation.uncertain': ['started'],
    'operation.voided': ['proposed', 'awaiting_approval', 'authorised'],
  }
  const statuses = Object.keys(ways) as OperationStatus[]
  const table = Object.keys(operationTransitions).flatMap(kind => statuses.map(status => [kind, status] as const))

  test.each(table)('[OP-3] %s meets an operation that is %s', (kind, status) => {
    const desk = scribe()
    const proposed = [...repliedEvents(desk), desk.event('operation.proposed')]
    const state = fold([...proposed, ...(ways[status].map(each => desk.event(each)) as Event[])])
    expect(state.operations[0]?.status).toBe(status)
    const {refusal} = decide(state, desk.event(kind as Kind) as Event)
    if (legalFrom[kind]?.includes(status)) return expect(refusal).toBeNull()
    const alone = kind === 'approval.endorsed' && status === 'awaiting_approval'
    const met = alone ? 'an approval by 0 of 1 people' : `an operation that is ${status}`
    expect(refusal).toMatchObject({code: 'refused', asked: kind, met})
    const owners = {approval: 'approval service', operation: 'operation service', voided: 'control plane'}
    const of = kind === 'operation.voided' ? 'voided' : kind.startsWith('approval') ? 'approval' : 'operation'
    expect(refusal?.owner).toBe(owners[of])
  })

  test('[APP-1] of two people who are needed each counts once, and only the second grants', () => {
    const desk = scribe()
    const said = desk.data['approval.granted']
    const {delegatedBy, ...own} = said
    const requested = desk.event('approval.requested', {data: {...desk.data['approval.requested'], approvers: 2}})
    const waiting = fold([...repliedEvents(desk), desk.event('operation.proposed'), requested])
    const met = (state: typeof waiting, kind: 'approval.endorsed' | 'approval.granted', data: typeof said) =>
      decide(state, desk.event(kind, {data})).refusal?.met
    expect(met(waiting, 'approval.granted', own)).toBe('an approval by 0 of 2 people')
    expect(met(waiting, 'approval.endorsed', own)).toBeUndefined()
    const once = fold([desk.event('approval.endorsed', {data: own})], waiting)
    expect(once.operations[0]).toMatchObject({status: 'awaiting_approval', approval: {endorsedBy: [own.by]}})
    const other = {...own, by: 'ines' as typeof own.by}
    expect(met(once, 'approval.granted', own)).toBe(`a yes that ${own.by} has given already`)
    expect(met(once, 'approval.granted', {...other, delegatedBy: own.by})).toBe('a yes under the same authority')
    expect(met(once, 'approval.endorsed', other)).toBe('an approval by 1 of 2 people')
    expect(
      met(once, 'approval.granted', {...other, approval: desk.data['approval.requested'].approval}),
    ).toBeUndefined()
    expect(fold([desk.event('approval.granted', {data: other})], once).operations[0]?.status).toBe('authorised')
  })

  test('[APP-4] an answer to an operation that the session does not have moves nothing', () => {
    const desk = scribe()
    const {refusal} = decide(fold(repliedEvents(desk)), desk.event('approval.granted'))
    expect(refusal).toMatchObject({met: 'no open operation under this id', owner: 'approval service'})
  })

  const corrections: Kind[] = ['message.posted', 'run.cancelled', 'session.closed']
  const voided = corrections.flatMap(kind => statuses.map(status => [kind, status] as const))
  test.each(voided)('[RUN-4] %s over an operation that is %s voids it only before it has started', (kind, status) => {
    const desk = scribe()
    const proposed = [...repliedEvents(desk), desk.event('operation.proposed')]
    const state = fold([...proposed, ...(ways[status].map(each => desk.event(each)) as Event[])])
    const event = desk.event(kind)
    const verdict = decide(state, event)
    const voids = ['proposed', 'awaiting_approval', 'authorised'].includes(status)
    expect(verdict.refusal === null && verdict.consequences).toMatchObject(
      voids ? [{kind: 'operation.voided', data: {operation: desk.names.operation, because: event.id}}] : [],
    )
  })
})
