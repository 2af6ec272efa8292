import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Event, isServerKind, type ServerKind} from '../../runtime/protocol/event.ts'
import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {DueChange} from '../storage/due-work.ts'

/** An external receiver of server events, in the format of Standard Webhooks. */
export type Webhook = {
  /** An `https:` URL, or `http:` for a receiver on the same machine or network. */
  url: string
  /** `whsec_` followed by the base64 of 24 to 64 random bytes. Shared with the receiver, never sent. */
  secret: string
  events: readonly ServerKind[]
}

/** A message stored until it is delivered. Each attempt is signed separately, because the signature covers its time. */
export type WebhookMessage = {id: string; url: string; body: string}

/**
 * Returns the webhook messages of an event. Pure. A message has the id of its event, so that receivers can detect
 * duplicates.
 */
export function messagesAbout(tenant: TenantId, event: Event, webhooks: readonly Webhook[], now: number): DueChange[] {
  return webhooks
    .filter(({events}) => (events as readonly string[]).includes(event.kind))
    .map(({url}) => {
      const {id, kind, session, run, data} = event
      const timestamp = new Date(now).toISOString()
      const body = JSON.stringify({type: kind, timestamp, data: {tenant, session, run: run ?? null, ...data}})
      const message: WebhookMessage = {id, url, body}
      return {tenant, name: 'webhook', key: `${id} ${url}`, dueAt: now, body: JSON.stringify(message)}
    })
}

/** @throws HoldfastError `misconfigured` naming the entry */
export function checkWebhooks(webhooks: readonly Webhook[]): void {
  for (const [index, {url, secret, events}] of webhooks.entries()) {
    const wrong = (field: string, expected: string) =>
      new HoldfastError('misconfigured', `notify.webhooks.${index}.${field}: expected ${expected}`)
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) throw wrong('url', 'an https or http address')
    const bytes = secretBytes(secret)?.length ?? 0
    if (bytes < 24 || bytes > 64) throw wrong('secret', '"whsec_" and the base64 of 24 to 64 bytes')
    const unknown = events.find(kind => !isServerKind(kind))
    if (unknown !== undefined) throw wrong('events', `kinds of server events, got "${unknown}"`)
    if (webhooks.findIndex(other => other.url === url) !== index) throw wrong('url', 'one entry an address')
  }
}

/** Returns the value of the header `webhook-signature`. */
export async function signWebhook(secret: string, id: string, timestamp: number, body: string): Promise<string> {
  const bytes = secretBytes(secret) ?? new Uint8Array(1)
  const key = await crypto.subtle.importKey('raw', bytes, {name: 'HMAC', hash: 'SHA-256'}, false, ['sign'])
  const text = new TextEncoder().encode(`${id}.${timestamp}.${body}`)
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, text))
  return `v1,${btoa(String.fromCharCode(...signature))}`
}

function secretBytes(secret: string): Uint8Array<ArrayBuffer> | null {
  if (!secret.startsWith('whsec_')) return null
  try {
    return Uint8Array.from(atob(secret.slice('whsec_'.length)), character => character.charCodeAt(0))
  } catch {
    return null
  }
}

/** Subject of audit entries for actions of the server itself. */
export const theServer = 'holdfast-server' as SubjectId
