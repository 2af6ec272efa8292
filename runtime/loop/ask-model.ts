import type {LanguageModelV3} from '@ai-sdk/provider'
import {wallBound} from '../protocol/budget.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {RunId, SessionId} from '../protocol/ids.ts'
import type {RunState} from '../protocol/run.ts'
import type {ToolContract} from '../protocol/tool.ts'
import {lacking} from './define.ts'
import {callModel, type Reply} from './model-port.ts'
import {modelRetry, triesOfCall} from './model-retry.ts'
import type {PreparedView} from './prepare-view.ts'
import {type Pause, pauseOf} from './provider-pause.ts'

export type Question = {
  session: SessionId
  run: RunState
  model: LanguageModelV3
  view: PreparedView
  tools: readonly ToolContract[]
  /** Aborts when the step is overtaken; what it was aborted with is then thrown. */
  over: AbortSignal
  /** Aborts when the run has done the work that it may do. [BUD-3] */
  time: AbortSignal
  environment: Environment
  onText(run: RunId, text: string | null): void
  retryDelayMs?: number
}

/** A reply; or the bound on the run's time that came first, or the pause that the provider asked for. [BUD-1] */
export async function askModel(question: Question): Promise<Reply | {bound: string} | Pause> {
  const {session, run, model, view, tools, over, time, environment, onText, retryDelayMs = 500} = question
  const step = run.step?.id
  if (!step) throw new HoldfastError('internal', 'a model call needs a prepared step')
  const policy = modelRetry(
    retryDelayMs,
    () => environment.random(),
    error => pauseOf(run, error) !== null || time.aborted,
  )
  try {
    return await policy.execute(async ({attempt: tries}) => {
      const timeout = AbortSignal.timeout(run.pin.budgets.modelCallMs)
      return await callModel({
        model,
        view,
        tools,
        settings: run.pin.model.settings,
        signal: AbortSignal.any([over, timeout, time]),
        environment,
        name: {session, run: run.id, step, attempt: run.attempt, try: run.pauses * triesOfCall + tries + 1},
        onText: text => onText(run.id, text),
      }).catch(error => {
        if (!timeout.aborted || over.aborted || time.aborted) throw error
        throw new HoldfastError('model_failed', `the model did not finish within ${run.pin.budgets.modelCallMs} ms`)
      })
    }, over)
  } catch (error) {
    if (over.aborted) throw over.reason
    if (time.aborted) return {bound: wallBound(run)}
    const pause = pauseOf(run, error)
    if (pause) return pause
    throw lacksModel(error, run)
  } finally {
    onText(run.id, null)
  }
}

function lacksModel(error: unknown, {pin}: RunState): unknown {
  if (!HoldfastError.is(error, 'not_found')) return error
  return lacking(`The run is pinned to the model ${pin.model.label}, which cannot be found: ${error.message}`)
}
