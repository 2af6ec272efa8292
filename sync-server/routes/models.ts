import {streamSSE} from 'hono/streaming'
import * as z from 'zod'
import {HoldfastError, parse} from '../../runtime/protocol/errors.ts'
import {modelCallKeySchema, modelFailureSchema} from '../../runtime/protocol/model-call.ts'
import {callOptionsSchema} from '../models/call.ts'
import {type Models, offerOf} from '../models/config.ts'
import type {ModelGateway} from '../models/gateway.ts'
import type {NumberedPart} from '../storage/token-store.ts'
import {type App, type Ctx, readBody} from './http.ts'

const offsetSchema = z.string().regex(/^\d{1,9}$/, 'expected the number of a part')

/** Milliseconds after which a stream without a part begins all the same: a device waits 15 s for a first sign. */
const firstPartMs = 5000

/**
 * The model gateway: the server holds the keys, the device sends a prompt and gets the parts of one generation, each
 * with its number as the event's id. Whoever lost the connection asks again under the same key, or for what follows.
 */
export function modelRoutes(app: App, models: Models, gateway: ModelGateway, heartbeatMs: number): void {
  app.get('/v1/models', c =>
    c.json({
      models: Object.keys(models).map(name => ({name, provider: offerOf(models, name)?.model.provider ?? ''})),
    }),
  )

  app.post('/v1/models/:name/stream', async c => {
    const asked = await readBody(c, callOptionsSchema)
    const leaving = leavingSignal(c)
    const parts = await gateway.ask(c.get('principal'), {name: c.req.param('name'), ...asked}, leaving.signal)
    return stream(c, parts, leaving, heartbeatMs)
  })

  app.get('/v1/models/streams/:key', async c => {
    const key = parse(modelCallKeySchema, c.req.param('key'), 'key')
    const after = Number(parse(offsetSchema, c.req.query('after') ?? '0', 'after'))
    const leaving = leavingSignal(c)
    const parts = await gateway.resume(c.get('principal'), key, after, leaving.signal)
    if (!parts) throw new HoldfastError('not_found', 'No such model call.')
    return stream(c, parts, leaving, heartbeatMs)
  })
}

function leavingSignal(c: Ctx): AbortController {
  const leaving = new AbortController()
  c.req.raw.signal.addEventListener('abort', () => leaving.abort())
  return leaving
}

type Parts = AsyncGenerator<NumberedPart>
type Next = IteratorResult<NumberedPart>

async function stream(c: Ctx, parts: Parts, leaving: AbortController, heartbeatMs: number): Promise<Response> {
  const first = parts.next()
  // A call that fails at once is told by its status, as any other refusal.
  failAtOnce(await within(firstPartMs, first))
  c.header('x-accel-buffering', 'no')
  return streamSSE(c, async out => {
    out.onAbort(() => leaving.abort())
    try {
      for (let next = first; ; ) {
        const got = await within(heartbeatMs, next)
        if (got === 'later') await out.write(': still here\n\n')
        else if (got.done || out.aborted) return
        else {
          await out.write(`id: ${got.value.n}\ndata: ${JSON.stringify(got.value.part)}\n\n`)
          next = parts.next()
        }
      }
    } finally {
      leaving.abort()
      await parts.return(undefined)
    }
  })
}

function failAtOnce(first: Next | 'later'): void {
  if (first === 'later' || first.done) return
  const failed = z.object({type: z.literal('error'), error: modelFailureSchema}).safeParse(first.value.part)
  if (!failed.success) return
  const {message, ...details} = failed.data.error
  throw new HoldfastError('model_failed', message, {details})
}

async function within(ms: number, next: Promise<Next>): Promise<Next | 'later'> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const later = new Promise<'later'>(resolve => {
    timer = setTimeout(() => resolve('later'), ms)
  })
  try {
    return await Promise.race([next, later])
  } finally {
    clearTimeout(timer)
  }
}
