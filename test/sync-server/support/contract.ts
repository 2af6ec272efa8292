import {createParser} from 'eventsource-parser'
import type * as z from 'zod'
import {errorAnswerSchema} from '../../../runtime/protocol/wire.ts'
import type {SyncServer} from '../../../sync-server/index.ts'
import {statusOf} from '../../../sync-server/routes/http.ts'
import {errorsOf, type Route, routesOf} from '../../../sync-server/routes/route.ts'

/** Every answer of the server is held against what its route declares; one that is not as declared is an error here. */
export function underContract<Served extends Pick<SyncServer, 'app' | 'fetch'>>(server: Served): Served {
  const {app} = server
  const routes = routesOf(app)
  const [ask, fetch] = [app.request, server.fetch]
  app.request = async (input, init, ...rest) => {
    const {url, method} = input instanceof Request ? input : {url: String(input), method: init?.method ?? 'GET'}
    return checked(routes, method, url, await ask(input, init, ...rest))
  }
  server.fetch = async request => checked(routes, request.method, request.url, await fetch(request))
  return server
}

/** @throws Error that says what the answer is not */
export async function checked(
  routes: readonly Route[],
  method: string,
  url: string,
  answer: Response,
): Promise<Response> {
  const {pathname} = new URL(url, 'http://localhost')
  const asked = `${method} ${pathname} answered ${answer.status}`
  // Neither has a body to look at: one asks about a route, the other for what a page may do with it.
  if (method === 'HEAD' || method === 'OPTIONS') return answer
  const route = routes.find(route => route.method === method && patternOf(route.path).test(pathname))
  const declared = route?.answers[answer.status]
  if (declared && 'mediaType' in declared) {
    expectType(asked, answer, declared.mediaType)
    return declared.data ? eachChecked(asked, answer, declared.data) : answer
  }
  expectType(asked, answer, 'application/json')
  const body: unknown = await plain(answer.clone()).json()
  for (const message of vagueMessages(body)) throw new Error(`${asked} in vague words: ${message}`)
  if (declared) holds(asked, declared, body)
  else expectRefusal(asked, answer, body, route)
  return answer
}

/** Without the compression that the caller has asked for. */
function plain(answer: Response): Response {
  if (answer.headers.get('content-encoding') !== 'gzip' || !answer.body) return answer
  return new Response(answer.body.pipeThrough(new DecompressionStream('gzip')))
}

function expectRefusal(asked: string, {status}: Response, body: unknown, route: Route | undefined): void {
  holds(asked, errorAnswerSchema, body)
  const {code} = errorAnswerSchema.parse(body).error
  // Every path that is known refuses other methods so, and no route declares it.
  if (status === 405 && code === 'bad_input' && !route) return
  if (statusOf(code) !== status) throw new Error(`${asked} with "${code}", which has another status`)
  // Who may not come in is told so before anything is looked at.
  const before = ['unauthenticated', 'token_expired', 'version_mismatch', 'rate_limited', 'too_large', 'internal']
  const codes: readonly string[] = route ? errorsOf(route) : ['not_found', ...before]
  if (!codes.includes(code)) throw new Error(`${asked} with "${code}", which it does not declare`)
}

function expectType(asked: string, answer: Response, type: string): void {
  const given = answer.headers.get('content-type') ?? ''
  if (given.split(';')[0] !== type) throw new Error(`${asked} as "${given}", expected ${type}`)
}

function holds(asked: string, schema: z.ZodType, value: unknown): void {
  const {error} = schema.safeParse(value)
  if (error) throw new Error(`${asked} with what it does not declare: ${error.message} in ${JSON.stringify(value)}`)
}

/** Checks as the reader reads: a stream may have no end. */
function eachChecked(asked: string, answer: Response, data: z.ZodType): Response {
  const check = (text: string) => {
    const value: unknown = JSON.parse(text)
    holds(asked, data, value)
  }
  const reader = answer.headers.get('content-type')?.startsWith('text/event-stream')
    ? createParser({onEvent: event => check(event.data)})
    : lineReader(check)
  const decoder = new TextDecoder()
  const through = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      reader.feed(decoder.decode(chunk, {stream: true}))
      controller.enqueue(chunk)
    },
  })
  return new Response(answer.body?.pipeThrough(through), answer)
}

function lineReader(check: (line: string) => void) {
  let rest = ''
  return {
    feed: (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) check(line)
    },
  }
}

/** Bad input must be told so that whoever sent it can mend it: the field, then what was expected there. */
const telling = /^\w.*: .*\bexpected\b/s

function* vagueMessages(value: unknown): Iterable<string> {
  if (typeof value !== 'object' || value === null) return
  const {code, message} = value as {code?: unknown; message?: unknown}
  if (code === 'bad_input' && typeof message === 'string' && !telling.test(message)) yield message
  for (const inner of Object.values(value)) yield* vagueMessages(inner)
}

function patternOf(path: string): RegExp {
  return new RegExp(
    `^${path.replaceAll('.', '\\.').replaceAll(/:\w+(\{[^}]*\})?/g, (_, own) => (own ? '.+' : '[^/]+'))}$`,
  )
}
