import {createServer, type IncomingMessage} from 'node:http'
import type {AddressInfo} from 'node:net'

/** What the service does with a key besides paying; unlisted keys are simply paid. */
export type Behaviour = {beforeActing?: () => void; afterActing?: () => void; answers?: boolean}

/** Somebody else's payments: counts what it did, knows idempotency keys, can act and never answer. */
export async function openPaymentService() {
  const payments = new Map<string, {receipt: string; cents: number}>()
  const closed = new Set<string>()
  const requests = new Map<string, number>()
  const behaviours = new Map<string, Behaviour>()
  let effects = 0

  const pay = (key: string, cents: number) => {
    const before = payments.get(key)
    if (before) return before
    effects++
    const payment = {receipt: `R-${effects}`, cents}
    payments.set(key, payment)
    return payment
  }
  const server = createServer(async (request, response) => {
    const key = String(request.headers['idempotency-key'])
    const answer = (status: number, body: unknown) =>
      response.writeHead(status, {'content-type': 'application/json'}).end(JSON.stringify(body))
    if (request.method === 'GET') return answer(payments.has(key) ? 200 : 404, {})
    if (request.method === 'DELETE') {
      // Asked what became of a key: what was never paid is closed, so that a straggler cannot pay it afterwards.
      const payment = payments.get(key)
      if (!payment) closed.add(key)
      return answer(payment ? 200 : 404, payment ?? {})
    }
    requests.set(key, (requests.get(key) ?? 0) + 1)
    const {beforeActing, afterActing, answers = true} = behaviours.get(key) ?? {}
    const {cents} = JSON.parse(await textOf(request))
    beforeActing?.()
    if (closed.has(key)) return answer(409, {error: 'closed'})
    const payment = pay(key, cents)
    afterActing?.()
    if (answers) answer(200, payment)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    payments,
    requests,
    behaviours,
    get effects() {
      return effects
    },
    url,
    ...paymentClient(url),
    close: () => {
      server.closeAllConnections()
      return new Promise<void>(resolve => server.close(() => resolve()))
    },
  }
}

type Payment = {receipt: string; cents: number}

/** The service as its callers have it, in this process or another. */
export function paymentClient(url: string) {
  const headers = (key: string) => ({'idempotency-key': key})
  return {
    execute: async (key: string, cents: number, signal: AbortSignal) => {
      const init = {method: 'POST', headers: headers(key), body: JSON.stringify({cents}), signal}
      const response = await fetch(url, init)
      if (!response.ok) throw new Error(`the payment service answered ${response.status}`)
      return (await response.json()) as Payment
    },
    /** The payment of this key, or null and never one. */
    findOrClose: async (key: string) => {
      const response = await fetch(url, {method: 'DELETE', headers: headers(key)})
      return response.ok ? ((await response.json()) as Payment) : null
    },
    /** Resolves once the service has paid; for a caller whose patience is to end only then. */
    hasActed: async (key: string) => {
      while (!(await fetch(url, {headers: headers(key)})).ok) await new Promise(resolve => setTimeout(resolve, 5))
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
