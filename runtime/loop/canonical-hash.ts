import canonicalize from 'canonicalize'

/** SHA-256, lower-case hex, over the canonical JSON (RFC 8785) of a value. */
export async function canonicalHash(value: unknown): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonicalize(value) ?? ''))
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, '0')).join('')
}
