import type {Environment} from '../protocol/environment.ts'
import type {DataOf} from '../protocol/event.ts'
import {type ModelCallName, modelCallOption} from '../protocol/model-call.ts'
import type {ModelSettings} from '../protocol/pin.ts'
import type {ToolContract} from '../protocol/tool.ts'
import {beforeAbort} from './before-abort.ts'
import {CallClock, type CallLimits} from './call-clock.ts'
import {type LanguageModel, type ModelStream, type ModelStreamPart, streamOf} from './language-model.ts'
import {modelError} from './model-error.ts'
import type {PreparedView} from './prepare-view.ts'
import {ReplyBuilder} from './reply-builder.ts'

export type Reply = DataOf<'model.replied'>

export type ModelCall = {
  model: LanguageModel
  view: PreparedView
  tools: readonly ToolContract[]
  /** As the run pinned them; the provider's own where it pinned none. */
  settings?: ModelSettings | undefined
  signal: AbortSignal
  /** Default: no limits. */
  limits?: CallLimits
  environment: Environment
  /** The name under which a gateway executes this call once. Other providers ignore it; a summary has none. */
  name?: ModelCallName
  /** Called with the complete text so far after every part. The text is not stored. */
  onText(text: string): void
}

const noLimits: CallLimits = {firstMs: Number.MAX_VALUE, silenceMs: Number.MAX_VALUE, totalMs: Number.MAX_VALUE}

/**
 * Makes one model call and returns the reply, of any size; `fitReply` cuts it to what an event can hold. A call that is
 * stopped at its total time returns its partial reply, marked as cut, because it is paid for.
 *
 * @throws HoldfastError `model_failed` (details.retryable) when the stream breaks, becomes silent, reports an error, or
 * ends before the reply is complete. `details.overflow` is set when the prompt is too long.
 */
export async function callModel(call: ModelCall): Promise<Reply> {
  const gathered = new ReplyBuilder(call)
  const clock = new CallClock(call.limits ?? noLimits)
  const signal = AbortSignal.any([call.signal, clock.signal])
  try {
    const stream = await beforeAbort(signal, open(call, signal))
    await readParts(stream, signal, part => {
      clock.progressed(isContent(part))
      return gathered.take(part)
    })
    return gathered.reply()
  } catch (error) {
    call.signal.throwIfAborted()
    if (isTooLong(clock.signal) && gathered.hasContent) return gathered.cutReply('time')
    throw modelError(clock.signal.aborted ? clock.signal.reason : error, call.environment.now())
  } finally {
    clock.stop()
  }
}

function open({model, view, settings, name}: ModelCall, abortSignal: AbortSignal): Promise<ModelStream> {
  const {prompt, tools} = view
  return streamOf(model, {
    ...settings,
    prompt,
    ...(tools.length > 0 && {tools}),
    abortSignal,
    ...(name && {providerOptions: {[modelCallOption]: {...name}}}),
  })
}

/** Reads until `take` returns "enough", the stream ends or the signal aborts, even if the stream ignores the signal. */
async function readParts(
  stream: ModelStream,
  signal: AbortSignal,
  take: (part: Parameters<ReplyBuilder['take']>[0]) => 'more' | 'enough',
): Promise<void> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const {done, value} = await beforeAbort(signal, reader.read())
      if (done) return
      if (take(value) === 'enough') break
    }
    reader.cancel().catch(() => undefined)
  } catch (error) {
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

/** Whether the part belongs to the reply. Other parts come before it or only keep the connection open. */
function isContent(part: ModelStreamPart | null | undefined): boolean {
  return part?.type !== undefined && !['stream-start', 'response-metadata', 'ping', 'raw'].includes(part.type)
}

function isTooLong({aborted, reason}: AbortSignal): boolean {
  return aborted && reason?.details?.tryAgain === false
}
