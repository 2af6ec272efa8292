import {canonicalJson} from '../protocol/canonical-json.ts'
import {toHex} from '../protocol/hex.ts'

/** SHA-256, lower-case hex, over the canonical JSON of a value. */
export async function canonicalHash(value: unknown): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalJson(value)))
  return toHex(new Uint8Array(digest))
}
