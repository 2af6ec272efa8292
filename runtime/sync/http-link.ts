import {EventSourceParserStream} from 'eventsource-parser/stream'
import * as z from 'zod'
import {inboxItemSchema} from '../protocol/approval.ts'
import {errorBodySchema, HoldfastError, parse} from '../protocol/errors.ts'
import {factSchema, factsAnswerSchema} from '../protocol/fact.ts'
import {memoryChangeAnswerSchema, memoryPageSchema, memoryPushAnswerSchema} from '../protocol/memory-wire.ts'
import {modelCallKey} from '../protocol/model-call.ts'
import {routeUrl, serverUrl} from '../protocol/server-url.ts'
import {limits, protocolVersion} from '../protocol/version.ts'
import {
  agentListSchema,
  custodyAnswerSchema,
  inboxSchema,
  liveMessageSchema,
  modelListSchema,
  pageSchema,
  protocolHeader,
  pushAnswerSchema,
  sessionListSchema,
} from '../protocol/wire.ts'
import {modelStream} from './model-stream.ts'
import type {ServerLink} from './server-link.ts'
import {tracedFetch} from './traced-fetch.ts'

export type HttpLinkOptions = {
  /** Where the server is, like `https://desk.example` or `https://shop.example/agents`; its routes are under `/v1` there. */
  url: string | URL
  token(): Promise<string>
  /** Called after the server said that the token has expired, so that the next call brings a new one. */
  onTokenRefused?(): void
  fetch?: typeof fetch
  /** Milliseconds one request may take; a stream may take this long to begin. */
  deadlineMs?: number
  /** Milliseconds of silence after which a live stream counts as broken; the server sends a sign every 15 s. */
  silenceMs?: number
}

/** A link that can be cut for real: every request and stream ends, and none starts until it is joined again. */
export interface CuttableLink extends ServerLink {
  setOnline(online: boolean): void
  readonly online: boolean
  /** Any other route of the server, as every call here: checked against the schema of its answer. */
  request<T>(schema: z.ZodType<T>, method: 'GET' | 'POST', path: string, body?: unknown): Promise<T>
}

/**
 * The link over HTTP and server-sent events, read with fetch because EventSource cannot carry a token.
 *
 * @throws HoldfastError `misconfigured` naming `url` unless it is an absolute http or https address
 * @example
 * const link = httpLink({url: 'http://127.0.0.1:8787', token: async () => token})
 * const page = await link.pull(session, 0)
 */
export function httpLink(options: HttpLinkOptions): CuttableLink {
  const http = new Http(options)
  const path = encodeURIComponent
  return {
    get online() {
      return http.online
    },
    setOnline: online => http.setOnline(online),
    request: (schema, method, path, body) => http.json(schema, method, path, body),
    push: (session, events) => http.json(pushAnswerSchema, 'POST', `/v1/sessions/${path(session)}/events`, {events}),
    putBlob: async (session, blob, bytes) => {
      await http.json(z.strictObject({}), 'PUT', `/v1/sessions/${path(session)}/blobs/${path(blob)}`, bytes)
    },
    blob: (session, blob) => http.bytes(`/v1/sessions/${path(session)}/blobs/${path(blob)}`),
    pull: (session, after) => http.json(pageSchema, 'GET', `/v1/sessions/${path(session)}/events?after=${after}`),
    sessions: device => http.json(sessionListSchema, 'GET', `/v1/sessions?device=${path(device)}`),
    purged: async (device, erasures) => {
      await http.json(z.strictObject({}), 'POST', '/v1/erasures/purged', {device, erasures})
    },
    claim: (session, claim) => http.json(custodyAnswerSchema, 'POST', `/v1/sessions/${path(session)}/custody`, claim),
    fact: key => http.json(factSchema, 'GET', `/v1/facts/${path(key)}`).catch(nullWhenUnknown),
    facts: async request => (await http.json(factsAnswerSchema, 'POST', '/v1/facts', request)).facts,
    live: (onMessage, signal) => http.live(onMessage, signal),
    agents: async () => (await http.json(agentListSchema, 'GET', '/v1/agents')).agents,
    models: async () => (await http.json(modelListSchema, 'GET', '/v1/models')).models.map(model => model.name),
    streamModel: (name, {abortSignal, headers, ...options}, call) => {
      const signal = abortSignal ?? new AbortController().signal
      const body = {...options, ...(call && {call})}
      return modelStream({
        open: () => http.stream('POST', `/v1/models/${path(name)}/stream`, body, signal, traceHeaders(headers)),
        reopen: call
          ? after => http.stream('GET', `/v1/models/streams/${modelCallKey(call)}?after=${after}`, undefined, signal)
          : null,
        mayReopen: () => http.online,
        signal,
      })
    },
    inbox: async status => (await http.json(inboxSchema, 'GET', `/v1/approvals?status=${status}`)).approvals,
    pushMemory: proposals => http.json(memoryPushAnswerSchema, 'POST', '/v1/memory/proposals', {proposals}),
    pullMemory: after => http.json(memoryPageSchema, 'GET', `/v1/memory/items?after=${after}`),
    changeMemory: async (item, change) =>
      (await http.json(memoryChangeAnswerSchema, 'POST', `/v1/memory/items/${path(item)}/change`, change)).item,
    decide: (approval, decision) =>
      http.json(inboxItemSchema, 'POST', `/v1/approvals/${path(approval)}/decision`, decision),
  }
}

/** Of the headers that a call carries only those of its trace go out: the others are for providers. [VIEW-5] */
function traceHeaders(headers: Record<string, string | undefined> = {}): Record<string, string> {
  const {traceparent, tracestate} = headers
  return {...(traceparent && {traceparent}), ...(tracestate && {tracestate})}
}

function nullWhenUnknown(error: unknown): null {
  if (HoldfastError.is(error, 'not_found')) return null
  throw error
}

/** 512 kbit a second. */
const slowLineBytesPerMs = 64

type ServerSentEvent = {id?: string | undefined; data: string}

class Http {
  #cut = new AbortController()
  readonly #base: URL

  constructor(private readonly options: HttpLinkOptions) {
    this.#base = serverUrl(options.url, 'url')
  }

  get online(): boolean {
    return !this.#cut.signal.aborted
  }

  setOnline(online: boolean): void {
    if (online && !this.online) this.#cut = new AbortController()
    if (!online) this.#cut.abort(new HoldfastError('offline', 'the connection is switched off'))
  }

  async json<T>(schema: z.ZodType<T>, method: string, path: string, body?: unknown): Promise<T> {
    const signal = this.#deadline(body instanceof Uint8Array ? body.length : 0)
    const response = await this.#request(method, path, body, signal)
    const answer = await response.json().catch(error => {
      throw this.#unreachable(error)
    })
    return parse(schema, answer, `${method} ${path.split('?')[0]} answer`)
  }

  async bytes(path: string): Promise<Uint8Array> {
    const response = await this.#request('GET', path, undefined, this.#deadline(limits.blobBytes))
    const answer = await response.arrayBuffer().catch(error => {
      throw this.#unreachable(error)
    })
    return new Uint8Array(answer)
  }

  /** Bytes that have to be carried get the time that a slow line needs for them. */
  #deadline(bytes: number): AbortSignal {
    const ms = (this.options.deadlineMs ?? 15_000) + Math.ceil(bytes / slowLineBytesPerMs)
    return AbortSignal.any([AbortSignal.timeout(ms), this.#cut.signal])
  }

  /** The events of a server-sent stream; breaks it after a long silence, since a dead connection says nothing. */
  async stream(
    method: string,
    path: string,
    body: unknown,
    signal: AbortSignal,
    trace: Record<string, string> = {},
  ): Promise<ReadableStream<ServerSentEvent>> {
    const starting = new AbortController()
    const timer = setTimeout(
      () => starting.abort(new HoldfastError('deadline', `${path}: no answer in time`)),
      this.options.deadlineMs ?? 15_000,
    )
    try {
      const all = AbortSignal.any([signal, starting.signal, this.#cut.signal])
      const response = await this.#request(method, path, body, all, trace)
      if (!response.body) throw new HoldfastError('internal', `${path}: the answer has no body`)
      return response.body
        .pipeThrough(breakOnSilence(this.options.silenceMs ?? 45_000, all), {signal: all})
        .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
        .pipeThrough(new EventSourceParserStream())
    } finally {
      clearTimeout(timer)
    }
  }

  async live(onMessage: (message: z.infer<typeof liveMessageSchema>) => void, signal: AbortSignal): Promise<void> {
    const stream = await this.stream('GET', '/v1/live', undefined, signal)
    try {
      for await (const event of stream) {
        const message = liveMessageSchema.safeParse(JSON.parse(event.data))
        // A message of a newer server is no reason to hang up: pokes carry no truth.
        if (message.success) onMessage(message.data)
      }
    } catch (error) {
      if (!signal.aborted) throw this.#unreachable(error)
    }
  }

  async #request(
    method: string,
    path: string,
    body: unknown,
    signal: AbortSignal,
    trace: Record<string, string> = {},
  ): Promise<Response> {
    this.#cut.signal.throwIfAborted()
    const token = await beforeAbort(signal, this.options.token()).catch(error => {
      throw this.#unreachable(error)
    })
    const bytes = body instanceof Uint8Array
    const headers = {
      ...trace,
      authorization: `Bearer ${token}`,
      [protocolHeader]: String(protocolVersion),
      ...(body !== undefined && {'content-type': bytes ? 'application/octet-stream' : 'application/json'}),
    }
    const send = tracedFetch(this.options.fetch ?? fetch)
    const response = await send(routeUrl(this.#base, path), {
      method,
      headers,
      signal,
      ...(body !== undefined && {body: bytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body)}),
    }).catch(error => {
      throw this.#unreachable(error)
    })
    if (response.ok) return response
    const error = await readError(response)
    if (HoldfastError.is(error, 'token_expired', 'unauthenticated')) this.options.onTokenRefused?.()
    throw error
  }

  #unreachable(error: unknown): unknown {
    if (this.#cut.signal.aborted) return this.#cut.signal.reason
    if (error instanceof HoldfastError) return error
    if (error instanceof DOMException && error.name === 'TimeoutError') {
      return new HoldfastError('deadline', 'the server did not answer in time', {cause: error})
    }
    if (error instanceof DOMException && error.name === 'AbortError') return error
    return new HoldfastError('offline', 'the server cannot be reached', {cause: error})
  }
}

async function readError(response: Response): Promise<HoldfastError> {
  const body = z.object({error: errorBodySchema}).safeParse(await response.json().catch(() => null))
  if (body.success) return HoldfastError.fromBody(body.data.error)
  // Not ours: a proxy or a crashed host answered. What was asked may or may not have happened.
  return new HoldfastError('offline', `the server answered with status ${response.status} and no readable error`)
}

/** Whoever brings the token may never answer; the request's own deadline holds for it too. */
function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), {once: true})
    work.then(resolve, reject)
  })
}

function breakOnSilence(ms: number, signal: AbortSignal): TransformStream<Uint8Array, Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const arm = (out: TransformStreamDefaultController) => {
    clearTimeout(timer)
    timer = setTimeout(() => out.error(new HoldfastError('offline', 'the live connection went silent')), ms)
  }
  // An armed timer would keep a finished process alive.
  signal.addEventListener('abort', () => clearTimeout(timer), {once: true})
  return new TransformStream({
    start: arm,
    transform: (chunk, out) => {
      arm(out)
      out.enqueue(chunk)
    },
    flush: () => clearTimeout(timer),
  })
}
