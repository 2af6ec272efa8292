import * as z from 'zod'
import {inboxItemSchema} from '../protocol/approval.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {factSchema, factsAnswerSchema} from '../protocol/fact.ts'
import {memoryChangeAnswerSchema, memoryPageSchema, memoryPushAnswerSchema} from '../protocol/memory-wire.ts'
import {modelCallKey} from '../protocol/model-call.ts'
import type {Person} from '../protocol/person.ts'
import {routeUrl, serverUrl} from '../protocol/server-url.ts'
import {parseTolerant} from '../protocol/tolerant.ts'
import {protocolVersion, wireRevision} from '../protocol/version.ts'
import {
  agentListSchema,
  custodyAnswerSchema,
  inboxSchema,
  liveMessageSchema,
  meAnswerSchema,
  modelListSchema,
  pageSchema,
  protocolHeader,
  pushAnswerSchema,
  revisionHeader,
  sessionListSchema,
} from '../protocol/wire.ts'
import {backedOffToken, type TokenSource} from './backed-off-token.ts'
import {Caller} from './caller.ts'
import {eventsOf, type ServerSentEvent} from './event-stream.ts'
import {HeldStreams, modelStream, type StreamBound} from './model-stream.ts'
import {readBytes, readError, readJson} from './read-answer.ts'
import type {ServerLink} from './server-link.ts'
import {Silence} from './silence.ts'
import {tracedFetch} from './traced-fetch.ts'

export type HttpLinkOptions = {
  /**
   * URL of the server, like `https://desk.example` or `https://shop.example/agents`. Its routes are under `/v1` of it.
   */
  url: string | URL
  /** Default: requests are authenticated by the page's cookies. */
  token?(): Promise<string>
  /** Called with a token that the server refused, so that the next call of `token` returns another. */
  onTokenRefused?(token: string): void
  /** Called with a token that the server accepted. */
  onTokenTaken?(token: string): void
  /** Called when the pause after a failed call of `token` is to end. */
  onTokenRetry?(): void
  fetch?: typeof fetch
  /** Maximum milliseconds until the headers of a response, and between two parts of its body. Default: 15,000. */
  deadlineMs?: number
  /**
   * Milliseconds without data after which a stream counts as broken. The server sends a heartbeat every 15 s. Default:
   * 45,000.
   */
  silenceMs?: number
}

/** A link that can be cut for real: every request and stream ends, and none starts until it is joined again. */
export interface CuttableLink extends ServerLink {
  setOnline(online: boolean): void
  readonly online: boolean
  /** Ends the pause after a failed call of `token`: the next request calls it again. */
  retryToken(): void
  /**
   * The person that requests act for. [ID-6]
   *
   * - A person: the server refuses a request with another person's token, and `onOther` is called.
   * - Null: requests wait until the person is known.
   * - An error: requests fail with it.
   *
   * Before the first call, requests name no person. `me` never does.
   */
  actFor(who: Person | null | HoldfastError, onOther?: () => void): void
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
  const held = new HeldStreams()
  return {
    get online() {
      return http.online
    },
    setOnline: online => http.setOnline(online),
    retryToken: () => http.retryToken(),
    actFor: (who, onOther) => http.caller.set(who, onOther),
    me: () => http.json(meAnswerSchema, 'GET', mePath),
    request: (schema, method, path, body) => http.json(schema, method, path, body),
    push: (session, events) => http.json(pushAnswerSchema, 'POST', `/v1/sessions/${path(session)}/events`, {events}),
    putBlob: async (session, blob, bytes) => {
      await http.json(z.strictObject({}), 'PUT', `/v1/sessions/${path(session)}/blobs/${path(blob)}`, bytes)
    },
    blob: (session, blob) => http.bytes(`/v1/sessions/${path(session)}/blobs/${path(blob)}`),
    pull: (session, after, bytes) => {
      const query = `after=${after}${bytes === undefined ? '' : `&bytes=${bytes}`}`
      return http.json(pageSchema, 'GET', `/v1/sessions/${path(session)}/events?${query}`)
    },
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
        open: bound => {
          const route = `/v1/models/${path(name)}/stream${forMs('?', bound)}`
          return http.stream('POST', route, body, signal, traceHeaders(headers))
        },
        reopen: call
          ? (after, bound) => {
              const route = `/v1/models/streams/${modelCallKey(call)}?after=${after}${forMs('&', bound)}`
              return http.stream('GET', route, undefined, signal)
            }
          : null,
        held,
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

function forMs(separator: '?' | '&', bound: StreamBound): string {
  return bound === null ? '' : `${separator}for=${bound}`
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

const mePath = '/v1/me'

/** 64 kbit/s: the deadline of a request grows with its size, for slow lines. */
const slowLineBytesPerMs = 8

class Http {
  readonly caller = new Caller()
  #cut = new AbortController()
  readonly #base: URL
  readonly #token: TokenSource | null

  constructor(private readonly options: HttpLinkOptions) {
    this.#base = serverUrl(options.url, 'url')
    this.#token = options.token ? backedOffToken(options.token) : null
  }

  get online(): boolean {
    return !this.#cut.signal.aborted
  }

  setOnline(online: boolean): void {
    if (online === this.online) return
    if (online) {
      this.#token?.retry()
      this.#cut = new AbortController()
    } else this.#cut.abort(new HoldfastError('offline', 'the connection is switched off'))
  }

  retryToken(): void {
    this.#token?.retry()
    this.options.onTokenRetry?.()
  }

  async json<T>(schema: z.ZodType<T>, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.#bounded(method, path, body)
    return readJson(schema, answer, `${method} ${path.split('?')[0]}`)
  }

  bytes(path: string): Promise<Uint8Array> {
    return this.#bounded('GET', path)
  }

  /**
   * Sends one request and reads its complete response. There is no limit on the total time while data arrives. [SYNC-8]
   */
  async #bounded(method: string, path: string, body?: unknown): Promise<Uint8Array> {
    const sent = payloadOf(body)
    const silence = this.#silence(sent)
    try {
      const signal = AbortSignal.any([silence.signal, this.#cut.signal])
      const response = await this.#request(method, path, sent, signal, silence)
      return await readBytes(response, bytes => silence.heard(bytes))
    } catch (error) {
      throw this.#unreachable(error)
    } finally {
      silence.stop()
    }
  }

  #silence(sent: Payload | null): Silence {
    const deadlineMs = this.options.deadlineMs ?? 15_000
    return new Silence(deadlineMs + Math.ceil((sent?.bytes.length ?? 0) / slowLineBytesPerMs), deadlineMs)
  }

  /** The events of a server-sent stream; breaks it after a long silence, since a dead connection says nothing. */
  async stream(
    method: string,
    path: string,
    body: unknown,
    signal: AbortSignal,
    trace: Record<string, string> = {},
  ): Promise<ReadableStream<ServerSentEvent>> {
    const sent = payloadOf(body)
    const starting = this.#silence(sent)
    try {
      const all = AbortSignal.any([signal, starting.signal, this.#cut.signal])
      const response = await this.#request(method, path, sent, all, starting, trace)
      return eventsOf(response, {silenceMs: this.options.silenceMs ?? 45_000, signal: all, what: path})
    } catch (error) {
      throw this.#unreachable(error)
    } finally {
      starting.stop()
    }
  }

  async live(onMessage: (message: z.infer<typeof liveMessageSchema>) => void, signal: AbortSignal): Promise<void> {
    try {
      for await (const {data} of await this.stream('GET', '/v1/live', undefined, signal)) {
        const message = parseTolerant(liveMessageSchema, jsonOrNull(data))
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
    sent: Payload | null,
    signal: AbortSignal,
    silence: Silence,
    trace: Record<string, string> = {},
  ): Promise<Response> {
    this.#cut.signal.throwIfAborted()
    const person = path === mePath ? {} : await beforeAbort(signal, this.caller.headers())
    const token = this.#token && (await beforeAbort(signal, this.#token.get()))
    const headers = {
      ...trace,
      ...person,
      ...(token !== null && {authorization: `Bearer ${token}`}),
      [protocolHeader]: String(protocolVersion),
      [revisionHeader]: String(wireRevision),
      ...(sent && {'content-type': sent.type}),
    }
    const send = tracedFetch(this.options.fetch ?? fetch)
    const response = await send(routeUrl(this.#base, path), {
      method,
      headers,
      signal,
      // A cached response would be out of date.
      cache: 'no-store',
      ...(token === null && {credentials: 'include' as const}),
      ...(sent && {body: sent.bytes}),
    })
    silence.begun()
    if (response.ok) {
      if (token !== null) this.options.onTokenTaken?.(token)
      return response
    }
    const error = readError(response, await readBytes(response, bytes => silence.heard(bytes)), Date.now())
    const refused = HoldfastError.is(error, 'token_expired', 'unauthenticated')
    if (token !== null) this.options[refused ? 'onTokenRefused' : 'onTokenTaken']?.(token)
    if (HoldfastError.is(error, 'other_person')) this.caller.isOther(person)
    throw error
  }

  #unreachable(error: unknown): unknown {
    if (this.#cut.signal.aborted) return this.#cut.signal.reason
    if (error instanceof HoldfastError) return error
    if (error instanceof DOMException && error.name === 'AbortError') return error
    return new HoldfastError('offline', 'the server cannot be reached', {cause: error})
  }
}

type Payload = {bytes: Uint8Array<ArrayBuffer>; type: string}

/** Encodes the body first, because the deadline depends on its size. */
function payloadOf(body: unknown): Payload | null {
  if (body === undefined) return null
  if (body instanceof Uint8Array) return {bytes: body as Uint8Array<ArrayBuffer>, type: 'application/octet-stream'}
  return {bytes: new TextEncoder().encode(JSON.stringify(body)), type: 'application/json'}
}

function jsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Whoever brings the token may never answer; the request's own deadline holds for it too. */
function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), {once: true})
    work.then(resolve, reject)
  })
}
