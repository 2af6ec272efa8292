import canonicalize from 'canonicalize'
import type {PreparedView} from './prepare-view.ts'

/** SHA-256, lower-case hex, over the canonical JSON (RFC 8785) of exactly what the model is sent. [VIEW-2] */
export async function promptHash(view: Pick<PreparedView, 'prompt' | 'tools'>): Promise<string> {
  const text = canonicalize({prompt: view.prompt, tools: view.tools}) ?? ''
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), byte => byte.toString(16).padStart(2, '0')).join('')
}
