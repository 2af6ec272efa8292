import {wallBound} from '../protocol/budget.ts'
import {type ContextOverflow, contextOverflowSchema} from '../protocol/context-overflow.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {RunId, SessionId} from '../protocol/ids.ts'
import type {Budgets, RunState} from '../protocol/run.ts'
import type {ToolContract} from '../protocol/tool.ts'
import type {CallLimits} from './call-clock.ts'
import {lacking} from './define.ts'
import type {LanguageModel} from './language-model.ts'
import {callModel, type Reply} from './model-port.ts'
import {modelRetry, triesOfCall} from './model-retry.ts'
import type {PreparedView} from './prepare-view.ts'
import {type Pause, pauseOf} from './provider-pause.ts'

export type Question = {
  session: SessionId
  run: RunState
  model: LanguageModel
  view: PreparedView
  tools: readonly ToolContract[]
  /** Aborts when the step is superseded. Its reason is thrown. */
  over: AbortSignal
  /** Aborts when the run's time budget is used up. [BUD-3] */
  time: AbortSignal
  environment: Environment
  onText(run: RunId, text: string | null): void
  retryDelayMs?: number
}

/** The provider refused the prompt as too long, with its limit and its count. */
export type TooLong = {tooLong: ContextOverflow}

/**
 * Calls the model. Returns a reply, the time bound that was reached first, the pause that the provider requested, or
 * that the prompt is too long. [BUD-1, VIEW-4]
 */
export async function askModel(question: Question): Promise<Reply | {bound: string} | Pause | TooLong> {
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
      return await callModel({
        model,
        view,
        tools,
        settings: run.pin.model.settings,
        signal: AbortSignal.any([over, time]),
        limits: callLimits(run.pin.budgets),
        environment,
        name: {session, run: run.id, step, attempt: run.attempt, try: run.pauses * triesOfCall + tries + 1},
        onText: text => onText(run.id, text),
      })
    }, over)
  } catch (error) {
    if (over.aborted) throw over.reason
    if (time.aborted) return {bound: wallBound(run)}
    const pause = pauseOf(run, error)
    if (pause) return pause
    const tooLong = overflowOf(error)
    if (tooLong) return {tooLong}
    throw lacksModel(error, run)
  } finally {
    onText(run.id, null)
  }
}

/** Maximum milliseconds of one call when the pin sets no total. */
const defaultTotalMs = 1_800_000

function callLimits({modelCallMs, modelFirstMs, modelTotalMs}: Budgets): CallLimits {
  return {firstMs: modelFirstMs ?? modelCallMs, silenceMs: modelCallMs, totalMs: modelTotalMs ?? defaultTotalMs}
}

function overflowOf(error: unknown): ContextOverflow | null {
  if (!HoldfastError.is(error, 'model_failed')) return null
  const told = contextOverflowSchema.safeParse(error.details.overflow)
  return told.success ? told.data : null
}

function lacksModel(error: unknown, {pin}: RunState): unknown {
  if (!HoldfastError.is(error, 'not_found')) return error
  return lacking(`The run is pinned to the model ${pin.model.label}, which cannot be found: ${error.message}`)
}
