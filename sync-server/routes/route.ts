import type {Handler} from 'hono'
import * as z from 'zod'
import {type ErrorCode, parse} from '../../runtime/protocol/errors.ts'
import type {Principal} from '../principal.ts'
import {type App, type Ctx, type Env, readBody} from './http.ts'

/** What is not JSON: its media type, what it holds in words, and the schema of the data of each event or line in it. */
export type Media = {readonly mediaType: string; readonly description: string; readonly data?: z.ZodType}
type Content = z.ZodType | Media
type Fields = Readonly<Record<string, z.ZodType>>

/**
 * A route told once: its handler gets what is declared here, the document says it, and the tests hold every answer
 * against it. Only what is common to all routes (token, protocol, rates) is not said again.
 */
export type Route = {
  /** Names it in the document and in clients made from it. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In Hono's pattern; every `:name` has its schema in `params`, under which name an error tells of it. */
  readonly path: string
  /** One sentence. */
  readonly summary: string
  readonly params?: Fields
  readonly query?: Fields
  readonly body?: Content
  /** By status. What does not come as JSON is answered as a `Response`, and so is any other status than 200. */
  readonly answers: {readonly 200: Content; readonly [status: number]: Content}
  /** Beyond those of `errorsOf` that any such route may give. */
  readonly errors?: readonly ErrorCode[]
  /** Asked without a token. */
  readonly open?: true
}

/** @example const readThing = route({name: 'readThing', method: 'GET', path: '/v1/things/:thing', …}) */
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
  /** Parsed; undefined when none is declared or it is no JSON. */
  readonly body: Value<R['body']>
  readonly principal: R['open'] extends true ? undefined : Principal
}
type Answered<R extends Route> = Answer<R['answers'][200]> | Other<R>

/** Registers the handler under what is declared: it is called only with values that were parsed. */
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

/** Below this, compressing costs more than it saves; the length is said, so that nobody does. */
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

/** Every route that was registered with `handle`, in order. */
export function routesOf(app: Pick<App, 'routes'>): Route[] {
  return app.routes.flatMap(({handler}) => (isDeclared(handler) ? [handler.declared] : []))
}

function isDeclared(handler: Handler<Env>): handler is Handler<Env> & {declared: Route} {
  return 'declared' in handler
}

/** Every code that an answer of this route may carry. */
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

/** An answer that only says that it was done. */
export const nothingSchema = z.strictObject({})

/** Headers by which proxies are asked to pass a stream on as it comes. `no-transform` also keeps it uncompressed. [SYNC-8] */
export function unbuffered(stream: Response): Response {
  stream.headers.set('x-accel-buffering', 'no')
  stream.headers.set('cache-control', 'no-store, no-transform')
  return stream
}

/** A comment of 4 KiB, which fills the buffer of a proxy that passes nothing on before it is full. */
export const padding = `:${' '.repeat(4096)}\n\n`

export function eventStream(description: string, data: z.ZodType): Media {
  return {mediaType: 'text/event-stream', description, data}
}

/** A number in a path or a query. */
export function digits(expected: string, most = 15) {
  return z.string().regex(new RegExp(`^\\d{1,${most}}$`), `expected ${expected}`)
}
