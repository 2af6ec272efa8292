import {canonicalHash} from './canonical-hash.ts'
import type {PreparedView} from './prepare-view.ts'

/** SHA-256, lower-case hex, over the canonical JSON (RFC 8785) of exactly what the model is sent. [VIEW-2] */
export function promptHash(view: Pick<PreparedView, 'prompt' | 'tools'>): Promise<string> {
  return canonicalHash({prompt: view.prompt, tools: view.tools})
}
