import {request as ask, createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import type {AddressInfo} from 'node:net'
import {text} from 'node:stream/consumers'
import {createGate, type Gate} from '../../../support/gate.ts'

/** Which requests a rule is about: `POST /v1/sessions/…` as one string, without the query. */
export type Match = (request: string) => boolean
/** Where a request is held: before the server hears of it, with half of its body sent, or with its answer ready. */
export type Stage = 'request' | 'half' | 'answer'

export interface ServerProxy {
  /** Stays the same over every restart of the server behind it. */
  url: string
  /** Where the server is now; null is a machine that does not answer. */
  point(port: number | null): void
  hold(match: Match, stage?: Stage): Gate
  /** Told every piece of an answer before the page is; returns how to stop. */
  tap(match: Match, listener: (chunk: string) => void): () => void
  /** What browsers reported against the page's policy. */
  violations: string[]
  close(): Promise<void>
}

const reportPath = '/policy-reports'

/** Stands between page and server: holds, cuts and overhears by path, and passes everything else on as it comes. */
export async function openProxy(): Promise<ServerProxy> {
  const relay = new Relay()
  const server = createServer((request, response) => void relay.take(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    point: port => relay.point(port),
    hold: (match, stage = 'request') => relay.hold(match, stage),
    tap: (match, listener) => relay.tap(match, listener),
    violations: relay.violations,
    close: () => closeServer(server),
  }
}

export function closeServer(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

type Held = {match: Match; stage: Stage; gate: Gate}
type Tap = {match: Match; listener: (chunk: string) => void}

class Relay {
  readonly violations: string[] = []
  #port: number | null = null
  readonly #held: Held[] = []
  readonly #taps = new Set<Tap>()
  readonly #under = new Set<ServerResponse>()

  point(port: number | null): void {
    this.#port = port
    if (port === null) for (const response of this.#under) response.destroy()
  }

  hold(match: Match, stage: Stage): Gate {
    const gate = createGate()
    this.#held.push({match, stage, gate})
    return gate
  }

  tap(match: Match, listener: (chunk: string) => void): () => void {
    const tap = {match, listener}
    this.#taps.add(tap)
    return () => this.#taps.delete(tap)
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url === reportPath) {
      this.violations.push(await text(request))
      response.writeHead(204).end()
      return
    }
    const name = `${request.method} ${request.url?.split('?')[0]}`
    this.#under.add(response)
    response.once('close', () => this.#under.delete(response))
    await this.#pass(name, 'request')
    if (this.#port === null || response.destroyed) response.destroy()
    else await this.#forward(name, this.#port, request, response)
  }

  async #forward(name: string, port: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const {method, url: path, headers} = request
    const onward = ask({host: '127.0.0.1', port, method, path, headers, agent: false})
    // Either side that goes away takes the other one along, so that nobody waits for a dead peer.
    onward.once('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    onward.once('response', answer => void this.#answer(name, answer, response))
    if (!this.#holds(name, 'half')) {
      request.pipe(onward)
      return
    }
    const body = Buffer.from(await text(request))
    onward.write(body.subarray(0, body.length / 2))
    await this.#pass(name, 'half')
    if (!onward.destroyed) onward.end(body.subarray(body.length / 2))
  }

  async #answer(name: string, answer: IncomingMessage, response: ServerResponse): Promise<void> {
    answer.once('error', () => response.destroy())
    answer.once('aborted', () => response.destroy())
    answer.on('data', (chunk: Buffer) => {
      for (const {match, listener} of [...this.#taps]) if (match(name)) listener(chunk.toString())
    })
    // Listening already lets it flow, and nothing may be lost before it is passed on.
    answer.pause()
    await this.#pass(name, 'answer')
    if (response.destroyed) return
    response.writeHead(answer.statusCode ?? 502, withReports(answer.headers))
    response.flushHeaders()
    answer.pipe(response)
  }

  #holds(name: string, stage: Stage): boolean {
    return this.#held.some(held => held.stage === stage && held.match(name))
  }

  async #pass(name: string, stage: Stage): Promise<void> {
    for (const held of this.#held) if (held.stage === stage && held.match(name)) await held.gate.pass()
  }
}

/** The policy itself stays as the server sends it; it only also says where to report what breaks it. */
function withReports(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const policy = headers['content-security-policy']
  return policy ? {...headers, 'content-security-policy': `${policy}; report-uri ${reportPath}`} : headers
}
