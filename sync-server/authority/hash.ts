import {canonicalJson} from '../../runtime/protocol/canonical-json.ts'
import {type Envelope, type Event, eventContent} from '../../runtime/protocol/event.ts'
import {toHex} from '../../runtime/protocol/hex.ts'
import type {Json} from '../../runtime/protocol/json.ts'

/** Returns the SHA-256 of the UTF-8 text in lower-case hex. */
export function sha256(text: string): Promise<string> {
  return hashBytes(new TextEncoder().encode(text))
}

export async function hashBytes(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes)
  return toHex(new Uint8Array(hash))
}

/** Hash of an event's content, independent of key order, by which a second delivery is recognised. [LOG-3] */
export function contentHash(event: Envelope | Event): Promise<string> {
  return hashJson(eventContent(event))
}

/** Hash of a value, independent of key order. */
export function hashJson(value: Json): Promise<string> {
  return sha256(canonicalJson(value))
}
