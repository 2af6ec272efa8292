import type {Handler} from 'hono'
import * as z from 'zod'
import {type ErrorCode, parse} from '../../runtime/protocol/errors.ts'
import type {Principal} from '../principal.ts'
import {type App, type Ctx, type Env, readBody} from './http.ts'

/** Non-JSON content: its media type, a description, and the schema of the data of each event or line. */
export type Media = {readonly mediaType: string; readonly description: string; readonly data?: z.ZodType}
type Content = z.ZodType | Media
type Fields = Readonly<Record<string, z.ZodType>>

/**
 * The declaration of a route. The handler receives parsed values of these types, the OpenAPI document is created from
 * it, and the tests check every response against it. What all routes share (token, protocol, rates) is not declared.
 */
export type Route = {
  /** The operation id in the document and in generated clients. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In Hono's pattern. Every `:name` has a schema in `params`; errors use that name. */
  readonly path: string
  /** One sentence, shown in the document. */
  readonly summary: string
  readonly params?: Fields
  readonly query?: Fields
  readonly body?: Content
  /** Content by status. For non-JSON content and for any status other than 200, the handler returns a `Response`. */
  readonly answers: {readonly 200: Content; readonly [status: number]: Content}
  /** Error codes in addition to those that `errorsOf` gives every such route. */
  readonly errors?: readonly ErrorCode[]
  /** Does not require a token. */
  readonly open?: true
}

/**
 * Declares a route and keeps its literal types.
 *
 * @example
 * const readThing = route({name: 'readThing', method: 'GET', path: '/v1/things/:thing', …})
 */
export function route<const R extends Route>(declared: R): R {
  return declared
}

type Values<F> = F extends Fields ? {readonly [Name in keyof F]: z.output<F[Name]>} : Record<never, never>
type Value<C> = C extends z.ZodType ? z.output<C> : undefined
type Answer<C> = C extends z.ZodType ? z.output<C> : Response
type Other<R extends Route> = [Exclude<keyof R['answers'], 200>] extends [never] ? never : Response

export type Asked<R extends Route> = {
  readonly params: Values<R['params']>
  readonly query: Values<R['query']>
  /** The parsed body; undefined if none is declared or it is not JSON. */
  readonly body: Value<R['body']>
  readonly principal: R['open'] extends true ? undefined : Principal
}
type Answered<R extends Route> = Answer<R['answers'][200]> | Other<R>

/** Registers a handler for a declared route. It is called with parsed values only. */
export function handle<R extends Route>(
  app: App,
  declared: R,
  answer: (asked: Asked<R>, c: Ctx) => Answered<R> | Promise<Answered<R>>,
): void {
  const {params = {}, query = {}, body} = declared
  const handler = async (c: Ctx) => {
    const asked = {
      params: parseEach(params, name => c.req.param(name)),
      query: parseEach(query, name => c.req.query(name)),
      body: body instanceof z.ZodType ? await readBody(c, body) : undefined,
      principal: c.get('principal'),
    }
    const answered = await answer(asked as Asked<R>, c)
    return answered instanceof Response ? answered : jsonAnswer(c, answered)
  }
  app.on(declared.method, declared.path, Object.assign(handler, {declared}))
}

/** Smaller responses are not worth compressing. Hono's compression skips a response with a small content-length. */
const smallBytes = 1024

function jsonAnswer(c: Ctx, answered: unknown): Response {
  const text = JSON.stringify(answered)
  const bytes = text.length < smallBytes ? new TextEncoder().encode(text).length : null
  if (bytes !== null) c.header('content-length', String(bytes))
  c.header('content-type', 'application/json')
  return c.body(text)
}

function parseEach(fields: Fields, given: (name: string) => string | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, parse(schema, given(name), name)]))
}

/** Returns every route registered with `handle`, in order. */
export function routesOf(app: Pick<App, 'routes'>): Route[] {
  return app.routes.flatMap(({handler}) => (isDeclared(handler) ? [handler.declared] : []))
}

function isDeclared(handler: Handler<Env>): handler is Handler<Env> & {declared: Route} {
  return 'declared' in handler
}

/** Returns every error code that a response of this route may carry. */
export function errorsOf({params, query, body, open, errors = []}: Route): ErrorCode[] {
  const guards: ErrorCode[] = [
    'unauthenticated',
    'token_expired',
    'other_person',
    'rate_limited',
    'version_mismatch',
    'unavailable',
  ]
  const input: ErrorCode[] = params || query || body ? ['bad_input'] : []
  const size: ErrorCode[] = body ? ['too_large'] : []
  return [...new Set<ErrorCode>([...input, ...size, ...(open ? [] : guards), ...errors, 'internal'])]
}

/** A response without content. */
export const nothingSchema = z.strictObject({})

/**
 * Sets headers that ask proxies to forward a stream without buffering. `no-transform` also prevents compression.
 * [SYNC-8]
 */
export function unbuffered(stream: Response): Response {
  stream.headers.set('x-accel-buffering', 'no')
  stream.headers.set('cache-control', 'no-store, no-transform')
  return stream
}

/** An SSE comment of 4 KiB, which fills the buffer of a proxy that forwards only full buffers. */
export const padding = `:${' '.repeat(4096)}\n\n`

export function eventStream(description: string, data: z.ZodType): Media {
  return {mediaType: 'text/event-stream', description, data}
}

/** Schema of a decimal number in a path or query. It stays a string. */
export function digits(expected: string, most = 15) {
  return z.string().regex(new RegExp(`^\\d{1,${most}}$`), `expected ${expected}`)
}
