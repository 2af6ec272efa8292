import type {LanguageModelV3, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import {streamSSE} from 'hono/streaming'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {callOptionsSchema} from '../model-call.ts'
import {isRetryable, safeMessage} from '../model-error.ts'
import {type App, type Ctx, readBody} from './http.ts'

export type Models = Record<string, LanguageModelV3>

/** The model gateway: the server holds the keys, the device sends a prompt and gets the parts of one generation. */
export function modelRoutes(app: App, models: Models): void {
  app.get('/v1/models', c =>
    c.json({models: Object.entries(models).map(([name, model]) => ({name, provider: model.provider}))}),
  )

  app.post('/v1/models/:name/stream', async c => {
    const name = c.req.param('name')
    const model = Object.hasOwn(models, name) ? models[name] : undefined
    if (!model) throw new HoldfastError('not_found', 'No such model.')
    const abort = new AbortController()
    c.req.raw.signal.addEventListener('abort', () => abort.abort())
    const parts = await open(c, model, abort.signal)
    c.header('x-accel-buffering', 'no')
    return streamSSE(c, async stream => {
      stream.onAbort(() => abort.abort())
      for await (const part of sendable(parts)) {
        if (stream.aborted) break
        await stream.write(`data: ${JSON.stringify(part)}\n\n`)
      }
      abort.abort()
    })
  })
}

async function open(c: Ctx, model: LanguageModelV3, abortSignal: AbortSignal) {
  const options = await readBody(c, callOptionsSchema)
  try {
    const {stream} = await model.doStream({...options, includeRawChunks: false, abortSignal})
    return stream
  } catch (error) {
    throw new HoldfastError('model_failed', safeMessage(error), {details: {retryable: isRetryable(error)}})
  }
}

type SentPart = LanguageModelV3StreamPart | {type: 'error'; error: {message: string; retryable: boolean}}

/** Raw provider chunks stay here, and of an error only its words leave: the rest may hold request headers. [VIEW-5] */
async function* sendable(parts: ReadableStream<LanguageModelV3StreamPart>): AsyncGenerator<SentPart> {
  const reader = parts.getReader()
  try {
    for (;;) {
      const {done, value} = await reader.read()
      if (done) return
      if (value.type === 'error') yield errorPart(value.error)
      else if (value.type !== 'raw') yield value
    }
  } catch (error) {
    yield errorPart(error)
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function errorPart(error: unknown): SentPart {
  return {type: 'error', error: {message: safeMessage(error), retryable: isRetryable(error)}}
}
