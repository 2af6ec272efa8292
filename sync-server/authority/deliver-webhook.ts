import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {DueItem} from '../storage/due-work.ts'
import type {Authority} from './authority.ts'
import {signWebhook, theServer, type WebhookMessage} from './webhooks.ts'

const deadlineMs = 10_000
/** With the back-off below, about thirty hours. */
const mostAttempts = 12

/**
 * Delivers one webhook message, at least once: an attempt whose response is lost is repeated with the same id. Any
 * response other than 2xx is retried. 410, or the last attempt, ends the delivery. Returns the time (ms) of the next
 * attempt, or null.
 */
export async function deliverWebhook(authority: Authority, item: DueItem): Promise<number | null> {
  const {environment, webhooks} = authority
  const message = JSON.parse(item.body) as WebhookMessage
  const hook = webhooks.find(({url}) => url === message.url)
  if (!hook) return giveUp(authority, item, message, 'the address is no longer configured')
  const timestamp = Math.floor(environment.now() / 1000)
  const signature = await signWebhook(hook.secret, message.id, timestamp, message.body)
  const answer = await post(message, {timestamp, signature})
  if (answer === 'delivered') return null
  if (answer === 'HTTP 410' || item.attempts >= mostAttempts) return giveUp(authority, item, message, answer)
  return environment.now() + pauseMs(item.attempts, environment.random())
}

async function post(
  {id, url, body}: WebhookMessage,
  {timestamp, signature}: {timestamp: number; signature: string},
): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signature,
  }
  try {
    // Following a redirect would send the message to an address that is not configured.
    const init = {method: 'POST', headers, body, redirect: 'manual', signal: AbortSignal.timeout(deadlineMs)} as const
    const response = await fetch(url, init)
    await response.body?.cancel()
    return response.ok ? 'delivered' : `HTTP ${response.status}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Exponential back-off: five seconds, tripled per attempt, at most six hours, with up to 20 % jitter. */
function pauseMs(attempts: number, random: number): number {
  return Math.round(Math.min(5000 * 3 ** (attempts - 1), 6 * 3_600_000) * (1 + random / 5))
}

async function giveUp(
  {store, environment, onFault}: Authority,
  {tenant}: DueItem,
  message: WebhookMessage,
  why: string,
): Promise<null> {
  const {id, url} = message
  const reason = `${new URL(url).origin}: ${why}`
  const at = environment.now()
  await store.audit.record({tenant, subject: theServer, action: 'webhook.given_up', about: id, reason, at})
  const error = new HoldfastError('offline', `A webhook was given up on; ${reason}`)
  onFault(error, {event: 'webhook.given_up', fields: {'holdfast.tenant': tenant, ...fieldsOf(message, why)}})
  return null
}

/** Logs only the host: the URL and the response may contain a secret. [VIEW-5] */
function fieldsOf({id, url, body}: WebhookMessage, why: string): TelemetryFields {
  const {data} = JSON.parse(body) as {data: {session: string; run: string | null}}
  const status = /^HTTP (\d+)$/.exec(why)?.[1]
  return {
    'holdfast.session_id': data.session,
    ...(data.run !== null && {'holdfast.run_id': data.run}),
    'holdfast.event_id': id,
    'server.address': new URL(url).host,
    ...(status && {'http.response.status_code': Number(status)}),
  }
}
