import {viewTokensOf} from '../protocol/calibration.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Draft} from '../protocol/event.ts'
import type {EventId, StepId} from '../protocol/ids.ts'
import type {RunState} from '../protocol/run.ts'
import type {SessionState} from '../protocol/session.ts'
import type {NamedStep} from '../protocol/shown-events.ts'
import type {Follow} from '../storage/session-log.ts'
import type {Agent, AgentHost} from './define.ts'
import {goesOnWith} from './next-step.ts'
import type {LoopParts} from './perform-step.ts'
import {type PreparedView, prepareView} from './prepare-view.ts'
import {rebuildView} from './rebuild-view.ts'
import {runDraft} from './run-draft.ts'
import {manifestOf} from './view-drafts.ts'
import {readAll, readFurther, readSources, sourcesOf, type ViewSources} from './view-sources.ts'
import type {WorkMeter} from './work-meter.ts'

/** Prepares the view of each step and keeps the last one, so that only another worker has to rebuild it. [VIEW-1] */
export class StepViews {
  #last: {step: StepId; view: PreparedView; continues: NamedStep | null} | null = null

  constructor(
    private readonly parts: LoopParts,
    private readonly meter: WorkMeter,
  ) {}

  async prepare(state: SessionState, run: RunState, agent: Agent, answers: EventId[]): Promise<Draft> {
    const sources = await readSources(this.parts, state, {
      agent,
      viewTokens: viewTokensOf(state.calibration, run.pin.budgets),
      answers,
    })
    return this.#draft({state, run, agent, answers, sources})
  }

  /**
   * Reads, before results are there, what the view after them is built from: so the last of them and that view are one
   * transaction. It is prepared only if nothing else was written since the reading, else as a step of its own.
   */
  async readAhead(state: SessionState, agent: Agent): Promise<Follow> {
    let at = state
    let read = await readAll(this.parts, at, {agent, answers: at.unanswered}).catch(() => null)
    return async ({before, state, events}, unit) => {
      if (!read || before !== at) return []
      at = state
      read = await readFurther(this.parts, agent, read, {events, unit})
      if (!read) return []
      const step = goesOnWith(state, this.meter.unrecordedMs)
      if (step?.do !== 'prepare-view' || !state.run) return []
      const {run} = state
      const {answers} = step
      const sources = await sourcesOf(read, state, {
        agent,
        viewTokens: viewTokensOf(state.calibration, run.pin.budgets),
        answers,
      })
      return [await this.#draft({state, run, agent, answers, sources})]
    }
  }

  /** The prepared view as it was, rebuilt from its manifest when another worker had prepared it. [VIEW-2] */
  async of({step}: RunState, host: AgentHost): Promise<PreparedView> {
    if (!step) throw new HoldfastError('internal', 'a model call needs a prepared step')
    if (this.#last?.step === step.id) return this.#last.view
    const [event] = await this.parts.store.byIds([step.prepared])
    if (!event || 'unreadable' in event || event.kind !== 'step.prepared') {
      throw new HoldfastError('internal', `step ${step.id}: its manifest is not in the log`)
    }
    const {exact, lacking, view} = await rebuildView({...this.parts, hosts: [host]}, event)
    if (!exact) {
      const why = lacking.map(({part, why}) => `${part}: ${why}`).join(' ')
      throw new HoldfastError('internal', `step ${step.id}: the prompt cannot be rebuilt as recorded. ${why}`, {
        details: {retryable: false},
      })
    }
    return view
  }

  async #draft(of: {
    state: SessionState
    run: RunState
    agent: Agent
    answers: EventId[]
    sources: ViewSources
  }): Promise<Draft> {
    const {state, run, agent, answers, sources} = of
    const view = prepareView(agent, sources.seen, sources.beside)
    const step = this.parts.environment.id('step')
    const earlier = this.#namedStep(run)
    const manifest = await manifestOf({agent, sources, view, answers, earlier})
    this.#last = {step, view, continues: manifest.continues ? earlier : null}
    return {...runDraft(state, 'step.prepared', {number: run.steps + 1, manifest}), step}
  }

  /** The step of the run that the last one went on from, or the last one itself; unknown when another worker made it. */
  #namedStep({step}: RunState): NamedStep | null {
    const last = this.#last
    if (!step || last?.step !== step.id) return null
    return last.continues ?? {step: step.prepared, events: last.view.events}
  }
}
