import {streamSSE} from 'hono/streaming'
import * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {modelCallKeySchema, modelFailureSchema} from '../../runtime/protocol/model-call.ts'
import {modelListSchema} from '../../runtime/protocol/wire.ts'
import {callOptionsSchema, modelNameSchema} from '../models/call.ts'
import {type Models, offerOf} from '../models/config.ts'
import type {ModelGateway} from '../models/gateway.ts'
import type {NumberedPart} from '../storage/token-store.ts'
import type {App, Ctx} from './http.ts'
import {digits, eventStream, handle, route, unbuffered} from './route.ts'

const failedPartSchema = z.object({type: z.literal('error'), error: modelFailureSchema})
const parts = eventStream(
  'Each event is a part of the generation, as the provider specification has it, under its number as the id. One of ' +
    'type `finish` ends it, or one of type `error`.',
  z.union([failedPartSchema, z.looseObject({type: z.string()})]),
)

const listModels = route({
  name: 'listModels',
  method: 'GET',
  path: '/v1/models',
  summary: 'The models that the gateway offers.',
  answers: {200: modelListSchema},
})

/**
 * Ends the response after this many milliseconds, even if parts remain: a buffering proxy may forward it only then.
 * [SYNC-8]
 */
const boundedFor = digits('milliseconds', 6).transform(Number).optional()

const askModel = route({
  name: 'askModel',
  method: 'POST',
  path: '/v1/models/:name/stream',
  summary: 'Asks a model, or joins a call with the same name that was begun before.',
  params: {name: modelNameSchema},
  query: {for: boundedFor},
  body: callOptionsSchema,
  answers: {200: parts},
  errors: ['not_found', 'conflict', 'budget_exhausted', 'model_failed'],
})

const resumeModel = route({
  name: 'resumeModel',
  method: 'GET',
  path: '/v1/models/streams/:key',
  summary: 'The parts of a call that was begun before, from the one after a number.',
  params: {key: modelCallKeySchema},
  query: {after: digits('the number of a part', 9).default('0').transform(Number), for: boundedFor},
  answers: {200: parts},
  errors: ['not_found', 'model_failed'],
})

/** Milliseconds to wait for the first part before the stream starts. A device waits 15 s for the first byte. */
const firstPartMs = 5000

/**
 * Registers the routes of the model gateway. Provider keys stay on the server; the device sends a prompt and receives
 * the parts of one generation, each with its number as the event id. After a lost connection the device repeats the
 * call with the same key, or resumes after the last part it has.
 */
export function modelRoutes(app: App, models: Models, gateway: ModelGateway, heartbeatMs: number): void {
  handle(app, listModels, () => ({
    models: Object.keys(models).map(name => ({name, provider: offerOf(models, name)?.model.provider ?? ''})),
  }))

  handle(app, askModel, async ({params: {name}, query: {for: forMs}, body: asked, principal}, c) => {
    const leaving = leavingSignal(c)
    const parts = await gateway.ask(principal, {name, ...asked}, leaving.signal)
    return stream(c, parts, leaving, {heartbeatMs, endsAt: endOf(forMs)})
  })

  handle(app, resumeModel, async ({params: {key}, query: {after, for: forMs}, principal}, c) => {
    const leaving = leavingSignal(c)
    const parts = await gateway.resume(principal, key, after, leaving.signal)
    if (!parts) throw new HoldfastError('not_found', 'No such model call.')
    return stream(c, parts, leaving, {heartbeatMs, endsAt: endOf(forMs)})
  })
}

function leavingSignal(c: Ctx): AbortController {
  const leaving = new AbortController()
  c.req.raw.signal.addEventListener('abort', () => leaving.abort())
  return leaving
}

type Parts = AsyncGenerator<NumberedPart>
type Next = IteratorResult<NumberedPart>

/** Monotonic end time in ms; infinite without a limit. */
function endOf(forMs: number | undefined): number {
  return forMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + forMs
}

type Bounds = {heartbeatMs: number; endsAt: number}

async function stream(
  c: Ctx,
  parts: Parts,
  leaving: AbortController,
  {heartbeatMs, endsAt}: Bounds,
): Promise<Response> {
  const left = () => Math.max(0, endsAt - performance.now())
  const first = parts.next()
  // A call that fails before the stream starts is reported by its HTTP status.
  failAtOnce(await within(Math.min(firstPartMs, left()), first))
  const answer = streamSSE(c, async out => {
    out.onAbort(() => leaving.abort())
    try {
      for (let next = first; ; ) {
        const got = await within(Math.min(heartbeatMs, left()), next)
        if (got === 'later' && left() === 0) return
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
  return unbuffered(answer)
}

function failAtOnce(first: Next | 'later'): void {
  if (first === 'later' || first.done) return
  const failed = failedPartSchema.safeParse(first.value.part)
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
