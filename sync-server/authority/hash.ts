import {canonicalJson} from '../../runtime/protocol/canonical-json.ts'
import {type Envelope, type Event, eventContent} from '../../runtime/protocol/event.ts'
import {toHex} from '../../runtime/protocol/hex.ts'
import type {Json} from '../../runtime/protocol/json.ts'

/** SHA-256 of the UTF-8 text, lower-case hex. */
export function sha256(text: string): Promise<string> {
  return hashBytes(new TextEncoder().encode(text))
}

export async function hashBytes(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes)
  return toHex(new Uint8Array(hash))
}

/** Equal for two deliveries of one event whatever the order of their keys. [LOG-3] */
export function contentHash(event: Envelope | Event): Promise<string> {
  return hashJson(eventContent(event))
}

/** Equal for equal values, whatever the order of their keys. */
export function hashJson(value: Json): Promise<string> {
  return sha256(canonicalJson(value))
}
