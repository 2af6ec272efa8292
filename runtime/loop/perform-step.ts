import type {DocumentEditor} from '../documents/document-editor.ts'
import type {DocumentReader} from '../documents/document-reader.ts'
import type {BlobId} from '../protocol/blob.ts'
import {type RunUsage, usageOf, wallLeftMs} from '../protocol/budget.ts'
import {viewTokensOf} from '../protocol/calibration.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Actor, Draft, LoggedEvent} from '../protocol/event.ts'
import type {FactReading} from '../protocol/fact.ts'
import type {DeviceId, EventId, RunId, SessionId} from '../protocol/ids.ts'
import {isActive, type RunState} from '../protocol/run.ts'
import type {CallState, Message, SessionState} from '../protocol/session.ts'
import {textStart} from '../protocol/text.ts'
import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {Follow, SessionLog} from '../storage/session-log.ts'
import {askModel} from './ask-model.ts'
import {rangeToCompact} from './compact-view.ts'
import {type AgentHost, chosenModel, lacking, type ModelGateway, modelLabel} from './define.ts'
import {type FittedReply, fitReply} from './fit-reply.ts'
import {keepBlobs, keepResult} from './keep-result.ts'
import type {LanguageModel} from './language-model.ts'
import {LocalCall, localDocuments} from './local-call.ts'
import {refusedView} from './narrow-view.ts'
import {goesOnWith, type NextStep} from './next-step.ts'
import {pinOf} from './pin-of.ts'
import type {Pause} from './provider-pause.ts'
import {readWhole} from './read-whole.ts'
import {recheckFacts} from './recheck-facts.ts'
import {chooseHost, type RegistryReading, type Router} from './route.ts'
import {proposalDraft, runDraft} from './run-draft.ts'
import {endOf} from './run-end.ts'
import type {RunSignal} from './run-signal.ts'
import {runTool, type ToolFunction, type ToolReturn, type ToolRun} from './run-tools.ts'
import {openSlotEditor} from './slot-editor.ts'
import {StepViews} from './step-views.ts'
import {summarise} from './summarise.ts'
import {compactionOf} from './view-drafts.ts'
import type {ViewMemory} from './view-memory.ts'
import {readSources} from './view-sources.ts'
import {watchedSql} from './watched-sql.ts'
import {withinCallLimit} from './within-call-limit.ts'
import {withoutExternal} from './without-server.ts'
import type {WorkMeter} from './work-meter.ts'

export type LoopParts = {
  log: SessionLog
  store: DeviceStore
  device: DeviceId
  hosts: readonly AgentHost[]
  /** Asked once for each run; the default rule unless given. */
  router?: Router | undefined
  /** Active versions; null where nothing is known of any. */
  registry?(): Promise<RegistryReading | null>
  environment: Environment
  gateway: ModelGateway
  /** With a unit of work it must not leave it: the database is busy with that transaction. */
  readFact(key: string, unit?: UnitOfWork): Promise<FactReading | null>
  readFacts(keys: readonly string[], unit?: UnitOfWork): Promise<(FactReading | null)[]>
  /** Like `readFact`. Bytes from the server are checked against their id. */
  readBlob(session: SessionId, blob: BlobId, unit?: UnitOfWork): Promise<Uint8Array>
  /** Takes custody of the session if its holder works on no run. Omitted where this device is always the holder. */
  takeCustody?(): Promise<void>
  /** False: no server can carry out external tools, so their calls end with an error. Default: true. */
  hasServer?: boolean
  /** Milliseconds that a holder on another device has to take up a message of this device. */
  patienceMs?(): number
  openDocuments(unit: UnitOfWork, session: SessionId): DocumentEditor
  documents: DocumentReader
  /** None: then no memory item goes into a view. */
  memory?: ViewMemory | undefined
  /** The reply so far, or null when it is over; never stored. */
  onText(run: RunId, text: string | null): void
  /** Goes around every step; must perform it once and pass on what it throws. */
  around?: AroundStep
  /** First pause before a model call is tried again, milliseconds. */
  retryDelayMs?: number
}

export type AroundStep = (step: NextStep, log: Pick<SessionLog, 'state'>, perform: () => Promise<void>) => Promise<void>

/** Performs one step at a time and appends its outcome; keeps nothing between steps that the log does not have. */
export class StepPerformer {
  readonly #views: StepViews

  constructor(
    private readonly parts: LoopParts,
    private readonly signal: RunSignal,
    private readonly meter: WorkMeter,
  ) {
    this.#views = new StepViews(parts, meter)
  }

  perform(step: NextStep, state: SessionState): Promise<void> {
    switch (step.do) {
      case 'take-custody':
        return this.#takeCustody(state)
      case 'start-run':
        return this.#startRun(state)
      case 'resume-run':
        return this.#resumeRun(state)
      case 'prepare-view':
        return this.#prepareView(state, step.answers)
      case 'compact':
        return this.#compact(state, step.answers)
      case 'call-model':
        return this.#callModel(state)
      case 'run-tools':
        return this.#runTools(step.calls, state)
      case 'propose-operations':
        return this.#append(step.calls.map(call => this.#proposal(state, call)))
      case 'record-results':
        return this.#recordResults(step, state)
      case 'sleep':
        return this.#append([runDraft(state, 'run.slept', {until: step.until, why: step.why, cause: 'tool'})])
      case 'wake':
        return this.#append([runDraft(state, 'run.woken', {by: step.by})])
      case 'stop':
        return this.#append([
          runDraft(state, 'run.completed', {outcome: 'partial', bound: step.bound, ...this.#used(state)}),
        ])
      case 'alert':
        return this.#append([runDraft(state, 'run.alerted', {bound: step.bound, ...this.#used(state)})])
      case 'finish':
        return this.#append([this.#finished(state)])
      case 'idle':
      case 'wait':
        return Promise.resolve()
    }
  }

  /** If another device was faster, its events have not arrived yet; a retry before that would fail again. */
  async #takeCustody(before: SessionState): Promise<void> {
    await this.parts.takeCustody?.()
    if (this.parts.log.state !== before) return
    const why = isActive(before.run)
      ? 'The run waits on another device. This device continues it when the server can be reached.'
      : 'Another device is working on this session.'
    throw new HoldfastError('offline', why)
  }

  async #startRun(state: SessionState): Promise<void> {
    const {environment, router, hosts, registry} = this.parts
    const message = await this.#newestMessage(state)
    const request = {agent: state.agent ?? '', message: message?.text ?? ''}
    const {host, route} = await chooseHost({router, hosts, registry: (await registry?.()) ?? null}, request)
    const model = await this.#model(host, null)
    const correlation = message?.correlation ?? environment.id('correlation')
    const pin = await pinOf({host, model: modelLabel(model), busy: state.policy, route, correlation})
    const run = environment.id('run')
    const started: Draft = {kind: 'run.started', data: {pin}, run, attempt: 1, epoch: state.custody.epoch}
    await this.#append([started], await this.#views.readAhead(this.parts.log.state, host.agent))
  }

  async #newestMessage({unanswered}: SessionState): Promise<Message['data'] | undefined> {
    return (await this.parts.store.byIds(unanswered)).findLast(isMessage)?.data
  }

  /**
   * Records the event that the run resumes from. Calls that are not proposed yet rest on facts that another process
   * read: if the facts have changed, the call ends with an error instead of a proposal. [RUN-8]
   */
  async #resumeRun(state: SessionState): Promise<void> {
    const run = this.#run(state)
    const {calls, changed} = await recheckFacts(state, key => this.parts.readFact(key))
    const output = {reason: `Changed since this was decided: ${changed.join(', ')}. Look again before you propose it.`}
    await this.#append([
      runDraft(state, 'run.resumed', {from: {seq: this.parts.log.head, ...run.worker}, changed}),
      ...calls.map(({id}) => runDraft(state, 'tool.returned', {call: id, outcome: 'superseded', output})),
    ])
  }

  async #prepareView(state: SessionState, answers: EventId[]): Promise<void> {
    await this.#append([await this.#views.prepare(state, this.#run(state), this.#host(state).agent, answers)])
  }

  /** Nothing is stored before the summary is there: after a crash in between it is simply made again. [VIEW-3] */
  async #compact(state: SessionState, answers: EventId[]): Promise<void> {
    const run = this.#run(state)
    const host = this.#host(state)
    const {modelCallMs} = run.pin.budgets
    const viewTokens = viewTokensOf(state.calibration, run.pin.budgets)
    const {seen, beside} = await readSources(this.parts, state, {agent: host.agent, viewTokens, answers})
    const range = rangeToCompact(seen, beside.summary, {answers, viewTokens})
    if (!range) return this.#prepareView(state, answers)
    const told = await summarise({
      range,
      viewTokens,
      model: host.agent.summaries === 'rules' ? null : await this.#model(host, run.pin.model.label),
      signal: this.signal.of(run),
      deadlineMs: modelCallMs,
      environment: this.parts.environment,
    })
    await this.#append([runDraft(state, 'view.compacted', compactionOf(host.agent, range, told, beside))])
  }

  async #callModel(state: SessionState): Promise<void> {
    const run = this.#run(state)
    const host = this.#host(state)
    const view = await this.#views.of(run, host)
    const model = await this.#model(host, run.pin.model.label)
    const time = this.meter.after(wallLeftMs(run, this.meter.unrecordedMs))
    const reply = await askModel({
      ...this.parts,
      session: this.parts.log.id,
      run,
      model,
      view,
      tools: host.agent.tools,
      over: this.signal.of(run),
      time: time.signal,
    }).finally(time.stop)
    if ('bound' in reply) return await this.perform({do: atBound(run), bound: reply.bound}, state)
    if ('pauseMs' in reply) return await this.#pause(state, reply)
    if ('tooLong' in reply) {
      const refused = refusedView(state, host.agent, view, reply.tooLong)
      return await this.#append([runDraft(state, 'view.refused', refused)])
    }
    const limited = withinCallLimit(reply, run.pin.budgets.maxToolCallsPerStep)
    const served = this.parts.hasServer === false ? withoutExternal(limited, host.agent.tools) : limited
    await this.#recordReply(state, await fitReply(served))
  }

  /** A session that holds as many bytes as it may keeps the reply cut: it is paid for. */
  async #recordReply(state: SessionState, {reply, blobs}: FittedReply): Promise<void> {
    const begun: Follow = after => this.#begun(after.state)
    if (blobs.length === 0) return await this.#append([runDraft(state, 'model.replied', reply)], begun)
    const {log} = this.parts
    try {
      await this.#measured(measure =>
        log.appendWith(
          this.#actor,
          async unit => {
            await keepBlobs(unit, log.id, blobs)
            return measure([runDraft(state, 'model.replied', reply)])
          },
          begun,
        ),
      )
    } catch (error) {
      if (!HoldfastError.is(error, 'too_large')) throw error
      const {blobs: _, ...cut} = reply
      await this.#append([runDraft(state, 'model.replied', cut)], begun)
    }
  }

  async #recordResults(
    {results, apart}: Extract<NextStep, {do: 'record-results'}>,
    state: SessionState,
  ): Promise<void> {
    const drafts = results.map(({call, outcome, output}) =>
      runDraft(state, 'tool.returned', {call: call.id, outcome, output}),
    )
    await this.#append(drafts, apart ? undefined : await this.#views.readAhead(state, this.#host(state).agent))
  }

  /**
   * What a reply asks for begins in its own transaction: that a tool was called is known before it runs. [LOG-6] One that
   * asks for nothing ends the run there.
   */
  #begun(state: SessionState): Draft[] {
    const step = goesOnWith(state, this.meter.unrecordedMs)
    switch (step?.do) {
      case 'run-tools':
        return intents(state, step.calls)
      case 'propose-operations':
        return step.calls.map(call => this.#proposal(state, call))
      case 'finish':
        return [this.#finished(state)]
      default:
        return []
    }
  }

  #finished(state: SessionState): Draft {
    return endOf(state, this.#used(state))
  }

  /** The provider said when to come back: sleeping until then survives what a timer in memory would not. [RUN-1] */
  #pause(state: SessionState, {pauseMs, why}: Pause): Promise<void> {
    const until = this.parts.environment.now() + pauseMs
    return this.#append([runDraft(state, 'run.slept', {until, why: textStart(why, 500), cause: 'provider'})])
  }

  #used(state: SessionState): {usage: RunUsage} {
    return {usage: usageOf(this.#run(state), this.meter.unrecordedMs)}
  }

  async #runTools(calls: CallState[], state: SessionState): Promise<void> {
    const begun = intents(state, calls)
    if (begun.length > 0) await this.#append(begun)
    const local = calls.filter(call => call.effect === 'local')
    const reads = calls.filter(call => call.effect === 'read')
    const next = this.#views.readAhead(this.parts.log.state, this.#host(state).agent)
    await Promise.all(reads.map(call => this.#runRead(call, state, next)))
    for (const call of local) await this.#runLocal(call, state, await next)
  }

  async #runRead(call: CallState, state: SessionState, reading: Promise<Follow>): Promise<void> {
    const returned = await runTool({...this.#toolRun(call), ...this.#reads()})
    const next = await reading
    const {log} = this.parts
    try {
      if (returned.blobs.length === 0)
        return await this.#append([runDraft(state, 'tool.returned', returned.result)], next)
      await this.#measured(measure =>
        log.appendWith(
          this.#actor,
          async unit => measure([runDraft(state, 'tool.returned', await keepResult(unit, log.id, returned))]),
          next,
        ),
      )
    } catch (error) {
      if (!HoldfastError.is(error, 'too_large')) throw error
      await this.#append([runDraft(state, 'tool.returned', toolError(call, error.message))], next)
    }
  }

  /**
   * The tool's writes, document edits and result are one transaction; a failed tool leaves none of them. The
   * transaction starts with the tool's first query, so slow work before it blocks no message. [OP-1]
   */
  async #runLocal(call: CallState, state: SessionState, next: Follow): Promise<void> {
    const local = new LocalCall(work => this.#inTransaction(work, next))
    const sql = watchedSql(local)
    const slots = openSlotEditor(this.parts.log.state.slots)
    const document = localDocuments(local, unit => this.parts.openDocuments(unit, this.parts.log.id))
    let failed: ToolReturn | null = null
    try {
      const run = this.#toolRun(call)
      const context = {...run.context, sql: sql.query, document, slots}
      const returned = await runTool({...run, context, ...this.#reads(local)})
      const {outcome} = returned.result
      if (outcome !== 'ok' || sql.fault() !== null) {
        failed = outcome === 'ok' ? toolError(call, `a query failed: ${sql.fault()}`) : returned.result
        throw new HoldfastError('tool_failed', `${call.tool} failed`)
      }
      const patch = slots.changes()
      const patched = patch ? [runDraft(state, 'slots.patched', {patch})] : []
      await local.finish(async unit => {
        const result = await keepResult(unit, this.parts.log.id, returned)
        return [...document.drafts(), ...patched, runDraft(state, 'tool.returned', result)]
      })
    } catch (error) {
      await local.abandon(error)
      // Data that the log cannot store is also a failure of the tool.
      if (HoldfastError.is(error, 'bad_input', 'too_large')) failed ??= toolError(call, error.message)
      if (!failed) throw error
      await this.#append([runDraft(state, 'tool.returned', failed)], next)
    }
  }

  #inTransaction(work: (unit: UnitOfWork) => Promise<readonly Draft[]>, next: Follow): Promise<void> {
    return this.#measured(measure =>
      this.parts.log.appendWith(this.#actor, async unit => measure(await work(unit)), next),
    )
  }

  #reads(local?: LocalCall): Pick<ToolRun, 'readFact' | 'readFacts' | 'readBlob' | 'readWhole'> {
    const {log, store, readFact, readFacts, readBlob} = this.parts
    const read: LocalCall['read'] = local ? work => local.read(work) : work => work()
    return {
      readFact: key => read(unit => readFact(key, unit)),
      readFacts: keys => read(unit => readFacts(keys, unit)),
      readBlob: blob => read(unit => readBlob(log.id, blob, unit)),
      readWhole: reference => read(unit => readWhole(unit ?? store, log.id, reference)),
    }
  }

  #toolRun(call: CallState) {
    const {state, id} = this.parts.log
    const run = this.#run(state)
    const {agent, tools} = this.#host(state)
    const tool = agent.tools.find(candidate => candidate.name === call.tool)
    if (!tool) throw new HoldfastError('internal', `tool ${call.tool} is pinned but not in this build`)
    const implementation = (tools as Record<string, ToolFunction | undefined>)[call.tool]
    const left = wallLeftMs(run, this.meter.unrecordedMs)
    const deadlineMs = Math.max(1, Math.min(run.pin.budgets.toolCallMs, left))
    return {
      call,
      tool,
      implementation,
      deadlineMs,
      deadline: (ms: number) => this.meter.after(ms),
      signal: this.signal.of(run),
      context: {session: id, run: run.id, slots: {read: () => structuredClone(state.slots)}},
    }
  }

  #proposal(state: SessionState, call: CallState): Draft<'operation.proposed'> {
    return proposalDraft(state, call, this.parts.environment.id('operation'))
  }

  #append(drafts: readonly Draft[], follow?: Follow): Promise<void> {
    return this.#measured(measure => this.parts.log.append(this.#actor, measure(drafts), follow))
  }

  /**
   * The first appended event records the work since the last one. If the append fails, the work stays unrecorded.
   * [BUD-3]
   */
  async #measured(append: (measure: (drafts: readonly Draft[]) => Draft[]) => Promise<void>): Promise<void> {
    let taken = 0
    const measure = (drafts: readonly Draft[]) => {
      const first = drafts.findIndex(({run}) => run !== undefined)
      if (first === -1) return [...drafts]
      const workMs = this.meter.take()
      taken += workMs
      return drafts.map((draft, i) => (i === first && workMs > 0 ? {...draft, workMs} : draft))
    }
    try {
      await append(measure)
    } catch (error) {
      this.meter.giveBack(taken)
      throw error
    }
  }

  get #actor(): Actor {
    const {run, agent} = this.parts.log.state
    return {type: 'agent', name: (isActive(run) && run?.pin.agent) || agent || 'agent'}
  }

  #host(state: SessionState): AgentHost {
    const {agent: name, version} = this.#run(state).pin
    const host = this.parts.hosts.find(({agent}) => agent.name === name && agent.version === version)
    if (!host) throw new HoldfastError('internal', `a step of "${name}" ${version} was chosen, which this build lacks`)
    return host
  }

  async #model(host: AgentHost, pinned: string | null): Promise<LanguageModel> {
    const {gateway} = this.parts
    const model = await chosenModel(host.model, {gateway, pinned})
    if (pinned === null || modelLabel(model) === pinned) return model
    throw lacking(`The run is pinned to the model ${pinned}; this build has ${modelLabel(model)}.`)
  }

  #run(state: SessionState): RunState {
    if (!state.run) throw new HoldfastError('internal', 'this step needs a run')
    return state.run
  }

  /** Ends the run that the failed step belonged to with an error that its log can show. */
  async fail(error: HoldfastError, state: SessionState): Promise<void> {
    const retryable = error.details.retryable !== false
    await this.#append([
      runDraft(state, 'run.failed', {
        code: error.code,
        message: textStart(error.message, 2000),
        retryable,
      }),
    ])
  }
}

function atBound({pin: {budgets}}: RunState): 'stop' | 'alert' {
  return budgets.onBound === 'partial' ? 'stop' : 'alert'
}

function intents(state: SessionState, calls: readonly CallState[]): Draft[] {
  return calls.filter(call => !call.called).map(call => runDraft(state, 'tool.called', {call: call.id}))
}

function isMessage(event: LoggedEvent): event is Message {
  return event.kind === 'message.posted' && !('unreadable' in event)
}

function toolError(call: CallState, error: string): ToolReturn {
  return {call: call.id, outcome: 'error', output: {error: textStart(`${call.tool}: ${error}`, 2000)}}
}
