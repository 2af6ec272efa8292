import {decide} from '../protocol/decide.ts'
import type {Actor, DataOf, Draft, Event, EventOf, LoggedEvent} from '../protocol/event.ts'
import {evolve} from '../protocol/evolve.ts'
import type {CallId, DeviceId, EventId, GeneratedIds, RunId, SessionId, StepId} from '../protocol/ids.ts'
import type {Manifest} from '../protocol/manifest.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {initialSession} from '../protocol/session.ts'
import {manifestsAmong, shownEvents} from '../protocol/shown-events.ts'
import type {Authored} from '../storage/session-log.ts'

export type KeptWork = {
  fork: SessionId
  device: DeviceId
  /** The event that opens the branch. */
  opening: Authored & {draft: Draft<'session.forked'>}
  /** Confirmed events of the original up to the branch point: run starts, steps, replies and results. */
  before: readonly LoggedEvent[]
  /** Events that this device wrote after the branch point, in device order. */
  work: readonly LoggedEvent[]
  newId<Name extends keyof GeneratedIds>(name: Name): GeneratedIds[Name]
}

const aborted = {reason: 'This was not finished when the work was moved to its own branch; nothing of it is under way.'}

/**
 * Copies diverged work to the start of a branch, in its original order: messages, document edits, steps, replies and
 * results, with new ids and epoch 1 of this device. Operations and approvals are not copied; a call that waits for one is
 * answered as aborted. Every copied event is checked by `decide`. [CUS-4, RUN-6]
 */
export function keepWork(parts: KeptWork): Authored[] {
  const branch = new Branch(parts)
  branch.say(parts.opening)
  for (const event of parts.work) {
    if (!('unreadable' in event)) branch.copy(event)
  }
  branch.answerOpenCalls()
  return branch.authored
}

class Branch {
  readonly authored: Authored[] = []
  #state = initialSession
  readonly #runs = new Map<RunId, RunId>()
  readonly #steps = new Map<StepId, StepId>()
  readonly #calls = new Map<CallId, CallId>()
  readonly #events = new Map<EventId, EventId>()
  readonly #before: readonly Event[]
  readonly #manifestOf: ReturnType<typeof manifestsAmong>

  constructor(private readonly parts: KeptWork) {
    this.#manifestOf = manifestsAmong([...parts.before, ...parts.work])
    this.#before = parts.before.filter((event): event is Event => !('unreadable' in event))
  }

  copy(event: Event): void {
    switch (event.kind) {
      case 'message.posted':
        this.#again(event, {kind: event.kind, data: event.data})
        break
      case 'document.updated':
        this.#again(event, {kind: event.kind, data: event.data})
        break
      case 'run.started':
        this.#start(event)
        break
      case 'run.migrated':
        this.#ofRun(event, {kind: event.kind, data: this.#migration(event.data)})
        break
      case 'step.prepared':
        this.#prepare(event)
        break
      case 'model.replied':
        this.#needStep(event)
        this.#reply(event, event.data.content)
        break
      case 'tool.called':
      case 'tool.returned':
        this.#needCall(event)
        this.#ofCall(event)
        break
      case 'slots.patched':
        this.#needWork(event)
        this.#ofRun(event, {kind: event.kind, data: event.data})
        break
      case 'view.compacted':
        this.#ofRun(event, {kind: event.kind, data: this.#compaction(event.data)})
        break
      case 'run.cancelled':
      case 'run.retried':
      case 'run.extended':
      case 'run.completed':
      case 'run.failed':
      case 'run.alerted':
      case 'run.slept':
      case 'run.woken':
        this.#ofRun(event, {kind: event.kind, data: event.data} as Draft)
        break
    }
  }

  answerOpenCalls(): void {
    const actor: Actor = {type: 'agent', name: this.#state.agent ?? 'agent'}
    for (const {id} of this.#state.calls) {
      const data = {call: id, outcome: 'aborted' as const, output: aborted}
      this.say({actor, draft: {kind: 'tool.returned', data, ...this.#ref()}})
    }
  }

  /** Appends the event if `decide` accepts it in the branch's current state. Returns false on a refusal. */
  say({actor, draft, at}: Authored): boolean {
    const id = draft.id ?? this.parts.newId('event')
    const {fork: session, device} = this.parts
    const deviceSeq = this.authored.length + 1
    const event = {id, session, seq: null, device, deviceSeq, actor, at: at ?? 0, v: 1, ...draft} as Event
    if (decide(this.#state, event).refusal) return false
    this.#state = evolve(this.#state, event)
    this.authored.push({actor, draft: {...draft, id}, ...(at !== undefined && {at})})
    return true
  }

  #again(source: Event, draft: Draft): void {
    const id = this.parts.newId('event')
    this.#events.set(source.id, id)
    this.say({actor: source.actor, draft: {...draft, id, causes: [source.id]}, at: source.at})
  }

  #ref() {
    const {run} = this.#state
    return {run: run?.id, step: run?.step?.id, attempt: run?.attempt, epoch: 1} as {run: RunId; step: StepId}
  }

  #ofRun(source: Event, draft: Draft): void {
    this.#needRun(source.run)
    const person = source.actor.type === 'person'
    this.#again(source, person ? {...draft, run: this.#state.run?.id as RunId} : {...draft, ...this.#ref()})
  }

  #start(source: EventOf<'run.started'>): void {
    if (!source.run) return
    const run = this.parts.newId('run')
    this.#runs.set(source.run, run)
    this.#again(source, {kind: source.kind, data: source.data, run, attempt: 1, epoch: 1})
  }

  /** Starts a run of the original again in the branch, with the same pin including its migrations. [PIN-2] */
  #needRun(run: RunId | undefined): void {
    if (!run || this.#runs.has(run)) return
    const started = this.#before.find(event => event.kind === 'run.started' && event.run === run)
    if (started?.kind !== 'run.started') return
    const moved = this.#before.flatMap(event =>
      event.kind === 'run.migrated' && event.run === run ? event.data.to : [],
    )
    this.#start({...started, data: {pin: Object.assign({...started.data.pin}, ...moved)}})
  }

  #prepare(source: EventOf<'step.prepared'>): void {
    this.#needRun(source.run)
    const step = this.parts.newId('step')
    if (source.step) this.#steps.set(source.step, step)
    const data = {number: (this.#state.run?.steps ?? 0) + 1, manifest: this.#manifest(source.data.manifest)}
    this.#again(source, {kind: source.kind, data, ...this.#ref(), step})
  }

  /** Lists all events of the manifest: the branch may have no copy of the step that `continues` refers to. */
  #manifest(manifest: Manifest): Manifest {
    const {continues, answers, summary, ...rest} = manifest
    const shown = shownEvents(manifest, this.#manifestOf)
    return {
      ...rest,
      ...(continues && !shown && {continues}),
      events: (shown ?? manifest.events).map(id => this.#here(id)),
      answers: answers.map(id => this.#here(id)),
      ...(summary && {summary: this.#here(summary)}),
    }
  }

  #migration(data: DataOf<'run.migrated'>): DataOf<'run.migrated'> {
    return {...data, checked: data.checked.map(({call, hash}) => ({call: this.#calls.get(call) ?? call, hash}))}
  }

  /** Maps the summary's event ids to those of the branch. [VIEW-3] */
  #compaction(data: DataOf<'view.compacted'>): DataOf<'view.compacted'> {
    const {from, to, previous} = data
    return {...data, from: this.#here(from), to: this.#here(to), ...(previous && {previous: this.#here(previous)})}
  }

  #here(id: EventId): EventId {
    return this.#events.get(id) ?? id
  }

  #needStep(source: EventOf<'model.replied' | 'slots.patched'>): void {
    if (!source.step || this.#steps.has(source.step)) return
    const prepared = this.#before.findLast(event => event.kind === 'step.prepared' && event.step === source.step)
    if (prepared?.kind === 'step.prepared') this.#prepare(prepared)
  }

  #reply(source: EventOf<'model.replied'>, parts: readonly ReplyPart[], usage = source.data.usage): void {
    const content = parts.map(part => {
      if (part.type !== 'call') return part
      const call = this.parts.newId('call')
      this.#calls.set(part.call, call)
      return {...part, call}
    })
    this.#again(source, {kind: source.kind, data: {...source.data, content, usage}, ...this.#ref()})
  }

  /** Copies a call that was open at the branch point. The other parts of its reply are inherited and not copied. */
  #needCall({data: {call}}: EventOf<'tool.called' | 'tool.returned'>): void {
    if (this.#calls.has(call)) return
    const replied = this.#before.find(event => event.kind === 'model.replied' && callsIn(event.data).includes(call))
    if (replied?.kind === 'model.replied') this.#bring(replied)
  }

  /** Copies the step that was active at the branch point, because slots change only within a step. [WRK-1] */
  #needWork({step}: EventOf<'slots.patched'>): void {
    if (!step || this.#steps.has(step)) return
    const replied = this.#before.find(event => event.kind === 'model.replied' && event.step === step)
    if (replied?.kind === 'model.replied') this.#bring(replied)
  }

  #bring(replied: EventOf<'model.replied'>): void {
    const answered = new Set(this.#before.flatMap(event => (event.kind === 'tool.returned' ? event.data.call : [])))
    const open = replied.data.content.filter(part => part.type === 'call' && !answered.has(part.call))
    this.#needStep(replied)
    this.#reply(replied, open, {inputTokens: null, outputTokens: null})
  }

  #ofCall(source: EventOf<'tool.called' | 'tool.returned'>): void {
    const call = this.#calls.get(source.data.call)
    if (!call) return
    const data = {...source.data, call}
    const draft = {kind: source.kind, data, ...this.#ref()} as Draft
    this.#again(source, draft)
  }
}

function callsIn({content}: DataOf<'model.replied'>): CallId[] {
  return content.flatMap(part => (part.type === 'call' ? part.call : []))
}
