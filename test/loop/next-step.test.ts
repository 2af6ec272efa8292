import {describe, expect, test} from 'vitest'
import {type AgentBuild, type NextStep, nextStep} from '../../runtime/loop/next-step.ts'
import type {Event, Kind, LoggedEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {Budgets} from '../../runtime/protocol/pin.ts'
import type {PinnedTool} from '../../runtime/protocol/tool.ts'
import {call, fold, manifest, pin, type Scribe, scribe} from '../support/events.ts'
import {pinWith} from '../support/pin.ts'

const now = 1_790_000_000_000
const agents = [{name: 'desk', version: '1.0.0', tools: pin.tools}]

/** Written like a log: kinds, and a few shorthands for what comes often. */
type Line =
  | Kind
  | 'read call'
  | 'refund call'
  | 'read and refund'
  | 'unknown call'
  | 'faulty call'
  | 'said all'
  | 'returned'
  | 'answered'

function eventOf(desk: Scribe, line: Line): Event {
  const {event, data, names} = desk
  const reply = (...content: object[]) =>
    event('model.replied', {data: {...data['model.replied'], content: content as never}}) as Event
  switch (line) {
    case 'read call':
      return reply(call(names.read, 'lookupOrder'))
    case 'refund call':
      return reply(call(names.first, 'refundOrder'))
    case 'read and refund':
      return reply(call(names.read, 'lookupOrder'), call(names.first, 'refundOrder'))
    case 'unknown call':
      return reply(call(names.read, 'wipeDisk'))
    case 'faulty call':
      return reply({...call(names.first, 'refundOrder'), fault: 'cents: expected a number'})
    case 'said all':
      return reply({type: 'text', text: 'Done.'})
    case 'returned':
      return event('tool.returned') as Event
    case 'answered':
      return event('tool.returned', {data: {call: names.first, outcome: 'ok', output: null}}) as Event
    case 'step.prepared':
      return event('step.prepared', {data: {number: 1, manifest: manifest([names.message])}}) as Event
    case 'message.posted':
      return event('message.posted', {id: names.message}) as Event
    default:
      return event(line) as Event
  }
}

const begun: Line[] = ['session.opened', 'message.posted', 'run.started']
const prepared: Line[] = [...begun, 'step.prepared']
const proposed: Line[] = [...prepared, 'refund call', 'operation.proposed']
const asking: Line[] = [...proposed, 'approval.requested']

const table: [string, Line[], Partial<NextStep>][] = [
  ['nothing has been opened', [], {do: 'idle'}],
  ['nobody has said anything', ['session.opened'], {do: 'idle'}],
  ['a message waits', ['session.opened', 'message.posted'], {do: 'start-run'}],
  ['a run has started', begun, {do: 'prepare-view'}],
  ['a step is prepared', prepared, {do: 'call-model'}],
  ['the model has said all', [...prepared, 'said all'], {do: 'finish'}],
  ['the run is complete', [...prepared, 'said all', 'run.completed'], {do: 'idle'}],
  ['a read is wanted', [...prepared, 'read call'], {do: 'run-tools'}],
  ['a read was begun and its device died', [...prepared, 'read call', 'tool.called'], {do: 'run-tools'}],
  ['a read has returned', [...prepared, 'read call', 'returned'], {do: 'prepare-view'}],
  ['a refund is wanted', [...prepared, 'refund call'], {do: 'propose-operations'}],
  ['a refund is wanted beside a read', [...prepared, 'read and refund'], {do: 'propose-operations'}],
  [
    'the refund is proposed and the read is not run',
    [...prepared, 'read and refund', 'operation.proposed'],
    {do: 'run-tools'},
  ],
  ['a tool is unknown', [...prepared, 'unknown call'], {do: 'record-results'}],
  ['an input is faulty', [...prepared, 'faulty call'], {do: 'record-results'}],
  ['an operation is proposed', proposed, {do: 'wait', for: 'operation'}],
  ['an approval is open', asking, {do: 'wait', for: 'approval'}],
  ['an approval was given', [...asking, 'approval.granted'], {do: 'wait', for: 'operation'}],
  ['an outcome is uncertain', [...proposed, 'operation.uncertain'], {do: 'wait', for: 'operation'}],
  ['an operation was executed', [...proposed, 'operation.executed'], {do: 'record-results'}],
  ['an operation was rejected', [...asking, 'approval.rejected'], {do: 'record-results'}],
  ['an approval expired', [...asking, 'approval.expired'], {do: 'record-results'}],
  ['an operation was voided', [...asking, 'operation.voided'], {do: 'record-results'}],
  ['an operation has its result', [...proposed, 'operation.executed', 'answered'], {do: 'prepare-view'}],
  ['the run failed and may be retried', [...prepared, 'run.failed'], {do: 'idle'}],
  ['the run failed before any step', [...begun, 'run.failed'], {do: 'idle'}],
  ['a failed run is retried', [...prepared, 'run.failed', 'run.retried'], {do: 'call-model'}],
  ['the run was cancelled before any step', [...begun, 'run.cancelled'], {do: 'idle'}],
  ['custody went elsewhere', [...prepared, 'custody.granted'], {do: 'wait', for: 'custody'}],
]

describe('next step', () => {
  test.each(table)('[RUN-1] when %s', (_, lines, step) => {
    const desk = scribe()
    const state = fold(lines.map(line => eventOf(desk, line)))
    expect(nextStep(state, {device: desk.names.device, agents, now})).toMatchObject(step)
  })

  const outcomes: [Line[], string][] = [
    [[...proposed, 'operation.executed'], 'ok'],
    [[...proposed, 'operation.failed'], 'error'],
    [[...proposed, 'operation.refused'], 'error'],
    [[...asking, 'approval.rejected'], 'denied'],
    [[...asking, 'approval.expired'], 'denied'],
    [[...asking, 'operation.voided'], 'superseded'],
    [[...prepared, 'faulty call'], 'error'],
    [[...prepared, 'unknown call'], 'error'],
  ]
  test.each(outcomes)('[LOG-7] after %j the call gets its result: %s', (lines, outcome) => {
    const desk = scribe()
    const step = nextStep(fold(lines.map(line => eventOf(desk, line))), {device: desk.names.device, agents, now})
    expect(step.do === 'record-results' && step.results.map(result => result.outcome)).toEqual([outcome])
  })

  const late: [string, Line[], Partial<NextStep>][] = [
    ['while the model thinks', prepared, {do: 'prepare-view'}],
    ['after the last word', [...prepared, 'said all'], {do: 'prepare-view'}],
    ['before a refund was proposed', [...prepared, 'refund call'], {do: 'record-results'}],
    ['while a read is open', [...prepared, 'read call'], {do: 'run-tools'}],
    ['while an approval is open', asking, {do: 'wait', for: 'approval'}],
    ['after a completed run', [...prepared, 'said all', 'run.completed'], {do: 'start-run'}],
    ['after a retryable failure', [...prepared, 'run.failed'], {do: 'start-run'}],
    ['after a cancelled run', [...prepared, 'run.cancelled'], {do: 'start-run'}],
  ]
  test.each(late)('[RUN-3] a message that comes %s is not lost', (_, lines, step) => {
    const desk = scribe()
    const news = desk.event('message.posted') as Event
    const state = fold([...lines.map(line => eventOf(desk, line)), news])
    expect(nextStep(state, {device: desk.names.device, agents, now})).toMatchObject(step)
    expect(state.unanswered).toEqual([news.id])
  })

  test('[LOG-7] calls that an ended run left open are answered before the next run prepares a view', () => {
    const desk = scribe()
    const lines: Line[] = [...prepared, 'read and refund', 'run.cancelled']
    const next = scribe({...desk.names, run: scribe().names.run})
    const state = fold([
      ...lines.map(line => eventOf(desk, line)),
      desk.event('message.posted') as Event,
      next.event('run.started') as Event,
    ])
    const step = nextStep(state, {device: desk.names.device, agents, now})
    expect(step.do === 'record-results' && step.results.map(({outcome}) => outcome)).toEqual(['aborted', 'aborted'])
  })

  test('[BUD-2] the step that would go over the bound is not prepared', () => {
    const desk = scribe()
    const rounds: Line[] = ['step.prepared', 'read call', 'returned']
    const state = fold([...begun, ...rounds, ...rounds, ...rounds].map(line => eventOf(desk, line)))
    expect(nextStep(state, {device: desk.names.device, agents, now})).toEqual({do: 'stop', bound: '3 steps'})
  })

  const [lookup, note, refund] = pin.tools as [PinnedTool, PinnedTool, PinnedTool]
  const desk = (version: string, tools: PinnedTool[] = pin.tools): AgentBuild[] => [{name: 'desk', version, tools}]
  const waits = {do: 'wait', for: 'version'} as const
  const builds: [string, AgentBuild[], Line[], Partial<NextStep>][] = [
    ['has no such agent', [{name: 'other', version: '1.0.0', tools: []}], prepared, waits],
    ['has another version than the run pinned', desk('2.0.0'), prepared, waits],
    ['has the version, but lost a tool', desk('1.0.0', [lookup, note]), prepared, waits],
    ['has the version, and a new tool', desk('1.0.0', [...pin.tools, {...lookup, name: 'more'}]), prepared, waits],
    [
      'has the version, and another version of a tool',
      desk('1.0.0', [lookup, note, {...refund, version: '2'}]),
      prepared,
      waits,
    ],
    [
      'has the version, and another effect of a tool',
      desk('1.0.0', [lookup, note, {...refund, effect: 'local'}]),
      prepared,
      waits,
    ],
    ['has the same tools in another order', desk('1.0.0', [refund, lookup, note]), prepared, waits],
    ['has what the run pinned', desk('1.0.0'), prepared, {do: 'call-model'}],
    [
      'has another version, and no run is active',
      desk('2.0.0', []),
      ['session.opened', 'message.posted'],
      {do: 'start-run'},
    ],
  ]
  test.each([
    ['has other instructions under the same version', 'd'.repeat(64), 'e'.repeat(64), waits],
    ['has the same instructions', 'd'.repeat(64), 'd'.repeat(64), {do: 'call-model'}],
    ['goes on with a run whose pin is of an earlier build', undefined, 'e'.repeat(64), {do: 'call-model'}],
  ] as const)('[PIN-2] a build that %s', (_, pinned, here, step) => {
    const written = scribe()
    const state = fold(prepared.map(line => eventOf(written, line)))
    const run = state.run && {...state.run, pin: {...state.run.pin, ...(pinned && {instructionsHash: pinned})}}
    const agents = desk('1.0.0').map(build => ({...build, instructionsHash: here}))
    expect(nextStep({...state, run}, {device: written.names.device, agents, now})).toMatchObject(step)
  })

  test.each(builds)('[PIN-3] a build that %s', (_, build, lines, step) => {
    const written = scribe()
    const state = fold(lines.map(line => eventOf(written, line)))
    expect(nextStep(state, {device: written.names.device, agents: build, now})).toMatchObject(step)
  })

  test('[PIN-3] a build with several versions goes on with the one that the run pinned, wherever it stands', () => {
    const written = scribe()
    const state = fold(prepared.map(line => eventOf(written, line)))
    const here = {device: written.names.device, now}
    const [older] = desk('1.0.0')
    const [newer] = desk('2.0.0', [])
    expect(nextStep(state, {...here, agents: [newer!, older!]})).toEqual({do: 'call-model'})
    expect(nextStep(state, {...here, agents: [newer!, {...newer!, version: '3.0.0'}]})).toMatchObject({
      ...waits,
      why: expect.stringContaining('2.0.0 and 3.0.0'),
    })
  })

  const asleep: Line[] = [...prepared, 'read call', 'returned', 'run.slept']
  const rested: [string, Line[], number, Partial<NextStep>][] = [
    ['before its time', asleep, now, {do: 'wait', for: 'wake', until: 2_000_000_000_000}],
    ['at its time', asleep, 2_000_000_000_000, {do: 'wake', by: 'time'}],
    ['when a message comes', [...asleep, 'message.posted'], now, {do: 'wake', by: 'message'}],
    ['after it was woken', [...asleep, 'run.woken'], now, {do: 'prepare-view'}],
    ['in the middle of a model call', [...prepared, 'run.slept', 'run.woken'], now, {do: 'call-model'}],
    ['when its session was closed', [...asleep, 'session.closed'], now, {do: 'idle'}],
  ]
  test('[BUD-3] a clock that was set back does not make a sleep longer than its author meant', () => {
    const written = scribe()
    const at = 2_000_000_000_000 - 60_000
    const events = asleep.map(line =>
      line === 'run.slept' ? (written.event(line, {at}) as Event) : eventOf(written, line),
    )
    const here = {device: written.names.device, agents, now: at - 365 * 86_400_000}
    expect(nextStep(fold(events), {...here, sleptMs: 0})).toMatchObject({do: 'wait', inMs: 60_000})
    expect(nextStep(fold(events), {...here, sleptMs: 59_000})).toMatchObject({do: 'wait', inMs: 1000})
    expect(nextStep(fold(events), {...here, sleptMs: 60_000})).toEqual({do: 'wake', by: 'time'})
  })

  test.each(rested)('[RUN-1] a run that sleeps, %s', (_, lines, at, step) => {
    const written = scribe()
    const state = fold(lines.map(line => eventOf(written, line)))
    expect(nextStep(state, {device: written.names.device, agents, now: at})).toMatchObject(step)
  })

  test('[PIN-3] calls of an ended run are answered by a build without the version only once the run is awake', () => {
    const written = scribe()
    const next = scribe({...written.names, run: scribe().names.run})
    const before = ([...prepared, 'read call', 'run.cancelled'] as Line[]).map(line => eventOf(written, line))
    const sleeps = [...before, eventOf(next, 'run.started'), eventOf(next, 'run.slept')]
    const here = {device: written.names.device, agents: desk('2.0.0'), now}
    expect(nextStep(fold(sleeps), here)).toMatchObject(waits)
    expect(nextStep(fold([...sleeps, eventOf(next, 'run.woken')]), here)).toMatchObject({
      do: 'record-results',
      apart: true,
    })
  })

  test('[RUN-1] a tool that asks to sleep is heard once every call of the step has its result', () => {
    const written = scribe()
    const {names} = written
    const sleep = {until: now + 5, why: 'The parcel is on its way.'}
    const returned = written.event('tool.returned', {data: {...written.data['tool.returned'], sleep}}) as Event
    const both = [...prepared, 'read and refund', 'operation.proposed'] as Line[]
    const waiting = [...both.map(line => eventOf(written, line)), returned]
    const here = {device: names.device, agents, now}
    expect(nextStep(fold(waiting), here)).toMatchObject({do: 'wait', for: 'operation'})
    const answered = [...waiting, ...(['operation.executed', 'answered'] as Line[]).map(line => eventOf(written, line))]
    expect(nextStep(fold(answered), here)).toEqual({do: 'sleep', ...sleep})
  })

  const workMs = 3_600_000
  const spent: [string, Line[], Partial<Budgets>, object][] = [
    ['before a model call', prepared, {}, {do: 'stop', bound: '3600 s of work'}],
    ['before a model call, to be asked', prepared, {onBound: 'escalate'}, {do: 'alert', bound: '3600 s of work'}],
    ['with an open call', [...prepared, 'read call'], {}, {do: 'record-results', results: [{outcome: 'aborted'}]}],
    ['with an open call, to be asked', [...prepared, 'refund call'], {onBound: 'escalate'}, {do: 'alert'}],
    ['while an operation is decided on', asking, {onBound: 'escalate'}, {do: 'wait', for: 'approval'}],
    ['after the last word', [...prepared, 'said all'], {}, {do: 'finish'}],
    ['and was extended', [...prepared, 'run.alerted', 'run.extended'], {wallMs: 5_000_000}, {do: 'call-model'}],
  ]
  test.each(spent)('[BUD-1] [BUD-2] a run whose time is over %s', (_, lines, budgets, step) => {
    const written = scribe()
    const events = lines.map(line => eventOf(written, line))
    const pinned = events.map(event =>
      event.kind === 'run.started' ? {...event, data: {pin: pinWith({budgets})}} : event,
    )
    expect(nextStep(fold(pinned as Event[]), {device: written.names.device, agents, now, workMs})).toMatchObject(step)
  })

  test.each(['partial', 'escalate'] as const)('[BUD-1] of two calls where one is left, one is run (%s)', onBound => {
    const written = scribe()
    const events = [...prepared, 'read and refund' as const].map(line => eventOf(written, line))
    const budgets = {maxToolCalls: 1, onBound}
    const pinned = events.map(event =>
      event.kind === 'run.started' ? {...event, data: {pin: pinWith({budgets})}} : event,
    ) as Event[]
    const here = {device: written.names.device, agents, now}
    const chosen = nextStep(fold(pinned), here)
    if (onBound === 'partial') {
      return expect(chosen).toMatchObject({results: [{call: {id: written.names.first}, outcome: 'aborted'}]})
    }
    expect(chosen).toMatchObject({do: 'run-tools', calls: [{id: written.names.read}]})
    const returned = fold([...pinned, eventOf(written, 'returned')])
    expect(nextStep(returned, here)).toEqual({do: 'alert', bound: '1 tool calls'})
  })

  test('[LOG-4] an unreadable event stops the run visibly', () => {
    const desk = scribe()
    const strange = {...desk.event('message.posted'), unreadable: 'kind "x.y" is not known'} as LoggedEvent
    const state = evolve(fold(prepared.map(line => eventOf(desk, line))), strange)
    const step = nextStep(state, {device: desk.names.device, agents, now})
    expect(step).toMatchObject({do: 'wait', for: 'version', why: expect.stringContaining('x.y')})
  })
})
