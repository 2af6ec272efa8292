import {type Fault, openFaultProxy} from '../../../support/fault-proxy.ts'
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
  /** Called with every piece of an answer before the page gets it. Returns its unsubscribe. */
  tap(match: Match, listener: (chunk: string) => void): () => void
  /** Adds any other fault; returns its removal. */
  add(fault: Fault): () => void
  /** At most so many requests at once, as browsers do over HTTP/1.1. */
  limit(connections: number): void
  /** What browsers reported against the page's policy. */
  violations: string[]
  close(): Promise<void>
}

const reportPath = '/policy-reports'
const stages = {request: 'onRequest', half: 'onHalf', answer: 'onAnswer'} as const

/** The fault proxy before the demo's server, with gates by path and with reports of what breaks the page's policy. */
export async function openProxy(): Promise<ServerProxy> {
  const proxy = await openFaultProxy()
  const violations: string[] = []
  proxy.add({
    match: ({request}) => request === `POST ${reportPath}`,
    answer: {status: 204},
    onBody: body => void violations.push(body),
  })
  // The policy itself stays as the server sends it; it only also says where to report.
  proxy.add({headers: withReports})
  return {
    url: proxy.url,
    point: proxy.point,
    hold(match, stage = 'request') {
      const gate = createGate()
      proxy.add({match: ({request}) => match(request), [stages[stage]]: () => gate.pass()})
      return gate
    },
    tap: (match, listener) => proxy.add({match: ({request}) => match(request), onChunk: listener}),
    add: proxy.add,
    limit: proxy.limit,
    violations,
    close: proxy.close,
  }
}

function withReports(headers: Parameters<NonNullable<Fault['headers']>>[0]) {
  const policy = headers['content-security-policy']
  return policy ? {...headers, 'content-security-policy': `${policy}; report-uri ${reportPath}`} : headers
}
