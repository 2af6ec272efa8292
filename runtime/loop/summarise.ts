import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import {fitSummary, type Range, summaryByRules, summaryPrompt} from './compact-view.ts'
import type {LanguageModel} from './language-model.ts'
import {callModel} from './model-port.ts'
import type {PreparedView} from './prepare-view.ts'
import {promptHash} from './prompt-hash.ts'

type Summary = Pick<DataOf<'view.compacted'>, 'summary' | 'by' | 'usage' | 'promptHash'>

export type SummaryCall = {
  range: Range
  viewTokens: number
  /** Null when the host wants summaries by rules. */
  model: LanguageModel | null
  signal: AbortSignal
  deadlineMs: number
  environment: Environment
}

/**
 * Summarises by the model, or by rules when the model fails: a run must not end because its summary failed.
 *
 * @throws the reason of an aborted `signal`; `offline` and `unauthenticated`, for which the run waits
 */
export async function summarise(call: SummaryCall): Promise<Summary> {
  const {range, viewTokens, model, signal} = call
  const told = model && (await askModel(call, model).catch(error => onlyModelFaults(error, signal)))
  if (told && told.summary !== '') return told
  const summary = fitSummary(summaryByRules(range, viewTokens), viewTokens)
  // An answer without a word in it was paid for too.
  return {summary, by: 'rules', ...(told && {usage: told.usage})}
}

async function askModel(call: SummaryCall, model: LanguageModel): Promise<Summary & {by: 'model'}> {
  const {range, viewTokens, signal: over, deadlineMs, environment} = call
  const prompt = summaryPrompt(range, viewTokens)
  const view: PreparedView = {prompt, tools: [], events: [], estimatedTokens: 0, transforms: []}
  const timeout = AbortSignal.timeout(deadlineMs)
  const signal = AbortSignal.any([over, timeout])
  // The summary is for the model alone, so its text is not streamed to the page.
  const asked = callModel({model, view, tools: [], signal, environment, onText: () => undefined})
  const {content, usage} = await asked.catch(error => {
    if (!timeout.aborted || over.aborted) throw error
    throw new HoldfastError('model_failed', `the model did not finish a summary within ${deadlineMs} ms`)
  })
  const text = content.flatMap(part => (part.type === 'text' ? [part.text] : [])).join('')
  return {summary: fitSummary(text, viewTokens), by: 'model', usage, promptHash: await promptHash(view)}
}

function onlyModelFaults(error: unknown, signal: AbortSignal): null {
  signal.throwIfAborted()
  if (HoldfastError.is(error, 'model_failed')) return null
  throw error
}
