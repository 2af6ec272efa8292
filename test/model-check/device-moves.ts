import type {NextStep} from '../../runtime/loop/next-step.ts'
import {proposalDraft, runDraft} from '../../runtime/loop/run-draft.ts'
import type {Actor, Draft, Event} from '../../runtime/protocol/event.ts'
import type {CallId, EventId, OperationId, RunId, StepId} from '../../runtime/protocol/ids.ts'
import {callsToCarry} from '../../runtime/protocol/migration.ts'
import {isActive, type ReplyPart} from '../../runtime/protocol/run.ts'
import type {CallState, SessionState} from '../../runtime/protocol/session.ts'
import type {PushAnswer} from '../../runtime/protocol/wire.ts'
import {openCallsOf} from './open-calls.ts'
import {type Rules, stepOf} from './rules.ts'
import {Violation} from './violation.ts'
import {type Device, nextVersion, pinOf, type Scenario, session, type Who, type World, withDevice} from './world.ts'

const person = {type: 'person', subject: 'maya'} as Actor
const agent: Actor = {type: 'agent', name: 'desk'}
const usage = {inputTokens: null, outputTokens: null}
const noUsage = {steps: 0, calls: 0, inputTokens: 0, outputTokens: 0, unreported: 0, cost: null, wallMs: 0}
/** What the model may answer: text, one call, two calls at once, or a call after which the run is to sleep. */
export type Reply = 'final' | 'external' | 'local' | 'pair' | 'nap'

function nameOf(device: Device, ahead = 1): string {
  return `${device.id}${device.deviceSeq + ahead}`
}

/** As the session log appends: all or nothing, decided on the state folded so far; then what follows, with it. */
export function append(
  rules: Rules,
  device: Device,
  actor: Actor,
  drafts: readonly Draft[],
  follow: (after: Device) => readonly Draft[] = () => [],
): Device | null {
  const first = fold(rules, device, actor, drafts)
  if (!first) return null
  const whole = fold(rules, first, actor, follow(first))
  if (!whole) throw new Violation('loop', `${device.id} is refused what follows from its own append`)
  return abortEnded(whole)
}

function fold(rules: Rules, device: Device, actor: Actor, drafts: readonly Draft[]): Device | null {
  let {current, deviceSeq} = device
  const events: Event[] = []
  for (const draft of drafts) {
    deviceSeq += 1
    const event = rules.same({
      id: `${device.id}${deviceSeq}` as EventId,
      session,
      seq: null,
      device: device.id,
      deviceSeq,
      actor,
      at: 0,
      v: 1,
      ...draft,
    } as Event)
    if (rules.decide(current, event).refusal) return null
    if (event.kind === 'step.prepared') checkView(device, events)
    current = rules.evolve(current, event)
    events.push(event)
  }
  return {...device, current, deviceSeq, pending: [...device.pending, ...events]}
}

/** LOG-7 as the device itself sees it: what the model is about to read has a result for every call. */
function checkView(device: Device, before: readonly Event[]): void {
  const [open] = openCallsOf(device.confirmed, [...device.pending, ...before])
  if (open) throw new Violation('results', `${device.id} prepares a view while ${open} is open`)
}

/** A model call for a run that has ended is given up at once. [RUN-7] */
function abortEnded(device: Device): Device {
  const {busy, current} = device
  if (busy?.step.do !== 'call-model') return device
  return current.run?.id === busy.before.run?.id && isActive(current.run) ? device : {...device, busy: null}
}

export function say(rules: Rules, world: World, who: Who, draft: Draft): World | null {
  const device = append(rules, world.devices[who], person, [draft])
  return device && withDevice(world, who, device)
}

export function post(rules: Rules, world: World, who: Who): World | null {
  return say(rules, world, who, {kind: 'message.posted', data: {text: 'm'}})
}

type PersonMove = 'run.cancelled' | 'run.retried' | 'run.extended'
export function moveRun(rules: Rules, world: World, who: Who, kind: PersonMove): World | null {
  const run = world.devices[who].current.run?.id
  return run ? say(rules, world, who, {kind, data: {}, run}) : null
}

/** Names every call that this device knows of as checked against the new version. [PIN-3] */
export function migrate(rules: Rules, world: World, who: Who): World | null {
  const {run, calls, operations} = world.devices[who].current
  if (!run) return null
  const hashes = new Map(nextVersion.tools.map(tool => [tool.name, tool.hash]))
  const checked = callsToCarry({calls, operations}, run).flatMap(({id: call, tool}) => {
    const hash = hashes.get(tool)
    return hash ? {call, hash} : []
  })
  return say(rules, world, who, {kind: 'run.migrated', data: {to: nextVersion, checked, reason: 'r'}, run: run.id})
}

export function canWork(step: NextStep): boolean {
  return step.do !== 'idle' && step.do !== 'wait'
}

export function begin(rules: Rules, world: World, who: Who): World {
  const device = world.devices[who]
  const {current} = device
  return withDevice(world, who, {
    busy: {step: rules.same(stepOf(rules, device, world.now)), before: current, at: current},
  })
}

/**
 * Appends the outcome of the step that the loop is busy with. What the log refuses although nothing has moved since the
 * step was chosen means that loop and decider contradict each other.
 */
export function finish(rules: Rules, scenario: Scenario, world: World, who: Who, reply: Reply | 'fails'): World {
  const device = world.devices[who]
  const {busy} = device
  const {now} = world
  if (!busy) return world
  if (busy.before.unreadable) {
    throw new Violation('unreadable', `${device.id} begins to ${busy.step.do} after an event that it cannot read`)
  }
  const drafts =
    reply === 'fails' ? [failure(busy.before)] : draftsOf(device, busy, {scenario, reply, now, fact: world.server.fact})
  const alone = device.current === busy.at
  const follow = reply === 'fails' ? undefined : (after: Device) => begunBy(rules, busy, {after, alone})
  const left = remaining(busy)
  const next = append(rules, {...device, busy: left}, agent, drafts, follow)
  if (next)
    return withDevice(world, who, {...next, busy: next.busy && {...next.busy, at: alone ? next.current : busy.at}})
  if (device.current === busy.before) {
    throw new Violation('loop', `${device.id} is told to ${busy.step.do}, and its own log refuses it`)
  }
  return withDevice(world, who, {busy: null})
}

/** As the loop does: what follows from a beginning, a reply or the last result begins in the transaction that records it. */
function begunBy(rules: Rules, {step}: Busy, {after, alone}: {after: Device; alone: boolean}): Draft[] {
  const replied = step.do === 'call-model'
  const viewed = alone && (step.do === 'start-run' || step.do === 'run-tools' || step.do === 'record-results')
  const {current} = after
  const next = replied || viewed ? rules.goesOnWith(current, 0) : null
  if (viewed) return next?.do === 'prepare-view' ? [viewDraft(current, next.answers, nameOf(after))] : []
  switch (next?.do) {
    case 'run-tools':
      return intents(current, next.calls)
    case 'propose-operations':
      return proposals(current, next.calls, after)
    case 'finish':
      return [runDraft(current, 'run.completed', {outcome: 'finished'})]
    default:
      return []
  }
}

function viewDraft(before: SessionState, answers: EventId[], name: string): Draft {
  const manifest = {events: [], answers, estimatedTokens: 0, promptHash: ''}
  const draft = runDraft(before, 'step.prepared', {number: (before.run?.steps ?? 0) + 1, manifest})
  return {...draft, step: `step-${name}` as StepId}
}

function intents(before: SessionState, calls: readonly CallState[]): Draft[] {
  return calls.filter(call => !call.called).map(call => runDraft(before, 'tool.called', {call: call.id}))
}

function proposals(before: SessionState, calls: readonly CallState[], device: Device): Draft[] {
  return calls.map((call, i) => proposalDraft(before, call, `opn-${nameOf(device, i + 1)}` as OperationId))
}

function failure(state: SessionState): Draft {
  return runDraft(state, 'run.failed', {code: 'model_failed', message: 'f', retryable: true})
}

type Busy = NonNullable<Device['busy']>

/** Intents first, then one result a call: the loop stays busy between these appends. */
function remaining({step, ...since}: Busy): Busy | null {
  if (step.do !== 'run-tools') return null
  if (step.calls.some(call => !call.called)) {
    return {step: {...step, calls: step.calls.map(call => ({...call, called: true}))}, ...since}
  }
  return step.calls.length > 1 ? {step: {...step, calls: step.calls.slice(1)}, ...since} : null
}

type Around = {scenario: Scenario; reply: Reply; fact: number; now: number}

function draftsOf(device: Device, {step, before}: Busy, {scenario, reply, fact, now}: Around): Draft[] {
  const name = nameOf(device)
  switch (step.do) {
    case 'start-run': {
      const data = {pin: pinOf(scenario)}
      return [{kind: 'run.started', data, run: `run-${name}` as RunId, attempt: 1, epoch: before.custody.epoch}]
    }
    case 'resume-run': {
      const from = {seq: device.confirmed.head, ...(before.run?.worker ?? {holder: null, epoch: 1})}
      return [runDraft(before, 'run.resumed', {from, changed: []})]
    }
    case 'prepare-view':
      return [viewDraft(before, step.answers, name)]
    case 'call-model':
      return [runDraft(before, 'model.replied', {content: contentOf(name, reply), finish: 'other', usage})]
    case 'run-tools':
      return toolDrafts(before, step.calls, {fact, now})
    case 'propose-operations':
      return proposals(before, step.calls, device)
    case 'sleep':
      return [runDraft(before, 'run.slept', {until: step.until, why: step.why, cause: 'tool'})]
    case 'wake':
      return [runDraft(before, 'run.woken', {by: step.by})]
    case 'alert':
      return [runDraft(before, 'run.alerted', {bound: step.bound, usage: noUsage})]
    case 'record-results':
      return step.results.map(({call, outcome, output}) =>
        runDraft(before, 'tool.returned', {call: call.id, outcome, output}),
      )
    case 'stop':
      return [runDraft(before, 'run.completed', {outcome: 'partial', bound: step.bound})]
    case 'finish':
      return [runDraft(before, 'run.completed', {outcome: 'finished'})]
    default:
      return []
  }
}

/** A tool that runs reads the fact as it is then, and what is proposed afterwards rests on that. */
function toolDrafts(before: SessionState, calls: CallState[], {fact, now}: Pick<Around, 'fact' | 'now'>): Draft[] {
  const begun = intents(before, calls)
  if (begun.length > 0) return begun
  const basis = {order: String(fact)}
  return calls.slice(0, 1).map(call => {
    const sleep = call.input === null ? {} : {sleep: {until: now + 1, why: 'night'}}
    return runDraft(before, 'tool.returned', {call: call.id, outcome: 'ok', output: null, basis, ...sleep})
  })
}

function contentOf(name: string, reply: Reply): ReplyPart[] {
  if (reply === 'final') return [{type: 'text', text: 't'}]
  const tool = reply === 'local' || reply === 'nap' ? 'saveNote' : 'refundOrder'
  const calls = reply === 'pair' ? ['', 'b'] : ['']
  return calls.map(which => ({
    type: 'call',
    call: `call-${name}${which}` as CallId,
    providerCall: '',
    tool,
    input: reply === 'nap' ? {until: 'morning'} : null,
  }))
}

/** As the session log receives: what follows the head is folded into the confirmed state, then the pending tail again. */
export function receive(rules: Rules, world: World, who: Who, events: readonly (Event & {seq: number})[]): World {
  const device = world.devices[who]
  const fresh = rules.followOn(events, device.confirmed.head).map(rules.same)
  if (fresh.length === 0) return world
  for (const event of fresh) {
    if (world.server.log[event.seq - 1] !== event)
      throw new Violation('lost', `${device.id} has ${event.id} as ${event.seq}`)
  }
  const arrived = new Set(fresh.map(event => event.id))
  const confirmed = fresh.reduce(rules.evolve, device.confirmed)
  if (confirmed.head !== device.confirmed.head + fresh.length) {
    throw new Violation('lost', `${device.id} folds ${fresh.length} events and stands at ${confirmed.head}`)
  }
  const open = device.pending.filter(event => !arrived.has(event.id))
  // Set aside in the very transaction that learns of it, as the session log does. [CUS-4]
  const lost = new Set(rules.fencedOff(device.confirmed, fresh, open)?.events.map(event => event.id))
  const said = open.find(event => event.kind === 'message.posted' && lost.has(event.id))
  if (said) throw new Violation('lost', `the message ${said.id} is set aside`)
  return refolded(rules, world, who, {
    confirmed,
    pending: open.filter(event => !lost.has(event.id)),
    rejected: [...device.rejected.filter(id => !arrived.has(id)), ...lost],
  })
}

export function reject(rules: Rules, world: World, who: Who, answer: PushAnswer): World {
  const device = world.devices[who]
  const refused = new Set(rules.rejections(answer.verdicts).map(({id}) => id))
  const gone = device.pending.filter(event => refused.has(event.id))
  const said = gone.find(event => event.kind === 'message.posted')
  // It stays on its device, with the reason; only a session that is over for good refuses one. [SYNC-2]
  if (said && !world.server.state.closed) throw new Violation('lost', `the message ${said.id} is refused`)
  return refolded(rules, world, who, {
    pending: device.pending.filter(event => !refused.has(event.id)),
    rejected: [...device.rejected, ...gone.map(event => event.id)],
  })
}

function refolded(rules: Rules, world: World, who: Who, change: Partial<Device>): World {
  const device = {...world.devices[who], ...change}
  return withDevice(world, who, abortEnded({...device, current: rules.foldPending(device.confirmed, device.pending)}))
}
