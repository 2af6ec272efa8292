import {request as ask, createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import type {Duplex} from 'node:stream'
import {buffer} from 'node:stream/consumers'
import {buffered, cutAfter, gzipped, heldBack, throttled} from './fault-streams.ts'

/** One call as the proxy sees it: `request` is like `POST /v1/sessions/…`, without the query. */
export type Call = {request: string; query: string; headers: IncomingMessage['headers']; n: number}

/** What happens to the calls that `match` accepts. Fields combine; every field left out changes nothing. */
export type Fault = {
  match?: (call: Call) => boolean
  /** Only the first so many matching calls. Default: all, until the fault is removed. */
  times?: number
  /** Answers by itself; the server never sees the call. */
  answer?: {status: number; headers?: Record<string, string>; body?: string}
  /** Closes the connection without an answer; with `dropAnswer` only after the server has acted. */
  refuse?: boolean
  dropAnswer?: boolean
  /** The server gets the request twice, one after the other; the second answer travels on. */
  twice?: boolean
  /** Called at a stage of the call, which waits, whenever the fault was added: before the server hears of it, with half of the body sent, with the answer ready. */
  onRequest?: () => Promise<void>
  onHalf?: () => Promise<void>
  onAnswer?: () => Promise<void>
  /** Called with the body of the request. */
  onBody?: (body: string) => void
  /** Called with every piece of the answer before the caller gets it. */
  onChunk?: (chunk: string) => void
  /** Holds the whole answer until the server has ended it, headers too. */
  buffer?: boolean
  /** Lets the first so many bytes of the answer pass and holds what follows until the server ends the answer. */
  holdAfterBytes?: number
  /** Delays every piece of the answer by milliseconds. */
  delayMs?: number
  /** Compresses the answer and flushes nothing before its end. */
  gzip?: boolean
  /** Breaks the connection after so many bytes of the answer's body. */
  cutAfterBytes?: number
  /** Ends the answer cleanly after milliseconds. */
  closeAfterMs?: number
  bytesPerSecond?: number
  stripRequest?: readonly string[]
  stripAnswer?: readonly string[]
  /** The headers of the answer, changed. */
  headers?: (headers: IncomingMessage['headers']) => IncomingMessage['headers']
}

export interface FaultProxy {
  /** Stays the same, whatever is behind it. */
  readonly url: string
  /** Every call so far, in the order of arrival. */
  readonly calls: readonly Call[]
  /** Calls that are being answered now. */
  readonly open: number
  /** The port of the server behind it on 127.0.0.1; null breaks all connections and answers nothing. */
  point(port: number | null): void
  /** Adds a fault; returns its removal. Of several that match, each applies. */
  add(fault: Fault): () => void
  /** At most so many calls are passed on at once and the others wait, as in a browser over HTTP/1.1. */
  limit(connections: number): void
  close(): Promise<void>
}

/**
 * An HTTP/1.1 proxy on loopback that does to traffic what proxies, lines and networks do.
 *
 * @example
 * const proxy = await openFaultProxy(port)
 * const heal = proxy.add({match: ({request}) => request === 'GET /v1/live', buffer: true})
 */
export async function openFaultProxy(port: number | null = null): Promise<FaultProxy> {
  const relay = new Relay()
  relay.point(port)
  // A caller that goes away in the middle of its request is no fault of the proxy.
  const server = createServer((request, response) => void relay.take(request, response).catch(() => response.destroy()))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: relay.calls,
    get open() {
      return relay.open
    },
    point: next => relay.point(next),
    add: fault => relay.add(fault),
    limit: connections => relay.limit(connections),
    close: () => closeServer(server),
  }
}

export function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

type Sent = {call: Call; port: number; request: IncomingMessage; body: Buffer; faults: readonly Fault[]}

class Relay {
  readonly calls: Call[] = []
  readonly #faults = new Map<Fault, number>()
  readonly #under = new Set<ServerResponse>()
  readonly #queue: (() => void)[] = []
  #port: number | null = null
  #limit = Number.POSITIVE_INFINITY
  #passing = 0

  get open(): number {
    return this.#under.size
  }

  point(port: number | null): void {
    this.#port = port
    if (port === null) for (const response of this.#under) response.destroy()
  }

  add(fault: Fault): () => void {
    this.#faults.set(fault, fault.times ?? Number.POSITIVE_INFINITY)
    return () => this.#faults.delete(fault)
  }

  limit(connections: number): void {
    this.#limit = connections
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '/', query = ''] = (request.url ?? '/').split('?')
    const call = {request: `${request.method} ${path}`, query, headers: request.headers, n: this.calls.length + 1}
    this.calls.push(call)
    this.#under.add(response)
    response.once('close', () => this.#under.delete(response))
    const leave = await this.#enter()
    response.once('close', leave)
    if (response.destroyed) leave()
    await this.#stage(call, 'onRequest')
    const faults = this.#take(call)
    const answer = faults.find(fault => fault.answer)?.answer
    const body = await buffer(request)
    for (const {onBody} of faults) onBody?.(body.toString())
    if (answer) {
      response.writeHead(answer.status, answer.headers).end(answer.body ?? '')
    } else if (this.#port === null || response.destroyed || faults.some(({refuse}) => refuse)) response.destroy()
    else await this.#forward({port: this.#port, request, call, body, faults}, response)
  }

  async #enter(): Promise<() => void> {
    while (this.#passing >= this.#limit) await new Promise<void>(resolve => this.#queue.push(resolve))
    this.#passing += 1
    let left = false
    return () => {
      if (left) return
      left = true
      this.#passing -= 1
      this.#queue.shift()?.()
    }
  }

  #take(call: Call): Fault[] {
    const matching = this.#matching(call)
    for (const fault of matching) this.#faults.set(fault, (this.#faults.get(fault) ?? 0) - 1)
    return matching
  }

  #matching(call: Call): Fault[] {
    return [...this.#faults]
      .filter(([fault, left]) => left > 0 && (fault.match?.(call) ?? true))
      .map(([fault]) => fault)
  }

  /** Asked anew at every stage: a fault may be added while the call is on its way. */
  async #stage(call: Call, stage: Stage): Promise<void> {
    for (const fault of this.#matching(call)) await fault[stage]?.()
  }

  async #forward(sent: Sent, response: ServerResponse): Promise<void> {
    try {
      const half = () => this.#stage(sent.call, 'onHalf')
      if (sent.faults.some(({twice}) => twice)) await buffer(await send(sent, response, half))
      const answer = await send(sent, response, half)
      await this.#answer(sent.call, answer, sent.faults, response)
    } catch {
      response.destroy()
    }
  }

  async #answer(
    call: Call,
    answer: IncomingMessage,
    faults: readonly Fault[],
    response: ServerResponse,
  ): Promise<void> {
    answer.on('data', (chunk: Buffer) => {
      for (const {onChunk} of this.#matching(call)) onChunk?.(chunk.toString())
    })
    // Listening lets it flow, and nothing may be lost before it is passed on.
    answer.pause()
    await this.#stage(call, 'onAnswer')
    if (response.destroyed) return
    if (faults.some(({dropAnswer}) => dropAnswer)) {
      await buffer(answer)
      response.destroy()
      return
    }
    const through = transforms(faults)
    const body = through.reduce<NodeJS.ReadableStream>((source, next) => source.pipe(next), answer)
    // Either side that goes away takes the other one along, so that nobody waits for a dead peer.
    for (const stream of [answer, ...through]) stream.once('error', () => response.destroy())
    answer.once('aborted', () => response.destroy())
    response.once('close', () => answer.destroy())
    const head = () => {
      if (response.headersSent || response.destroyed) return
      response.writeHead(answer.statusCode ?? 502, changedHeaders(answer.headers, faults))
      response.flushHeaders()
    }
    // A proxy that buffers holds the head as well.
    if (!faults.some(fault => fault.buffer || fault.gzip)) head()
    const closing = faults.find(fault => fault.closeAfterMs !== undefined)?.closeAfterMs
    const timer = closing === undefined ? undefined : setTimeout(() => response.end(), closing)
    response.once('close', () => clearTimeout(timer))
    body.on('data', (chunk: Buffer) => {
      head()
      if (!response.writableEnded && !response.write(chunk)) body.pause()
    })
    response.on('drain', () => body.resume())
    body.once('end', () => {
      head()
      response.end()
    })
    body.resume()
  }
}

/** Sends the request; its second half waits for every `onHalf`. */
async function send(
  {port, request, body, faults}: Sent,
  response: ServerResponse,
  half: () => Promise<void>,
): Promise<IncomingMessage> {
  const headers = without(request.headers, faults, 'stripRequest')
  const onward = ask({host: '127.0.0.1', port, method: request.method, path: request.url, headers, agent: false})
  response.once('close', () => onward.destroy())
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    onward.once('response', resolve)
    onward.once('error', reject)
  })
  // Whoever waits at a gate meanwhile must not turn a broken connection into an unhandled one.
  answered.catch(() => undefined)
  if (faults.some(({onHalf}) => onHalf)) {
    onward.write(body.subarray(0, body.length / 2))
    await half()
    if (!onward.destroyed) onward.end(body.subarray(body.length / 2))
  } else onward.end(body)
  return await answered
}

type Stage = 'onRequest' | 'onHalf' | 'onAnswer'

function transforms(faults: readonly Fault[]): Duplex[] {
  return faults.flatMap(({gzip, buffer, holdAfterBytes, delayMs, bytesPerSecond, cutAfterBytes}) => [
    ...(gzip ? [gzipped()] : []),
    ...(buffer ? [buffered()] : []),
    ...(holdAfterBytes !== undefined ? [buffered(holdAfterBytes)] : []),
    ...(delayMs !== undefined ? [heldBack(delayMs)] : []),
    ...(bytesPerSecond !== undefined ? [throttled(bytesPerSecond)] : []),
    ...(cutAfterBytes !== undefined ? [cutAfter(cutAfterBytes)] : []),
  ])
}

function changedHeaders(headers: IncomingMessage['headers'], faults: readonly Fault[]): IncomingMessage['headers'] {
  const kept = faults.reduce((last, fault) => fault.headers?.(last) ?? last, without(headers, faults, 'stripAnswer'))
  if (!faults.some(({gzip}) => gzip)) return kept
  const {'content-length': _, ...others} = kept
  return {...others, 'content-encoding': 'gzip'}
}

function without(
  headers: IncomingMessage['headers'],
  faults: readonly Fault[],
  which: 'stripRequest' | 'stripAnswer',
): IncomingMessage['headers'] {
  const names = new Set(faults.flatMap(fault => fault[which] ?? []))
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.has(name)))
}
