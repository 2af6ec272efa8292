import {type Json, jsonBytes, jsonObjectSchema} from '../protocol/json.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {textStart} from '../protocol/text.ts'
import {limits} from '../protocol/version.ts'

export type OpaquePart = Extract<ReplyPart, {type: 'opaque'}>

/**
 * Stores a part of a reply that Holdfast does not interpret, unchanged: a source, a file, a call of the provider's own
 * tool. A part that JSON cannot represent, or that is over 64 KiB, is replaced by a note.
 */
export function opaquePart(part: {readonly type: string; readonly [field: string]: unknown}): OpaquePart {
  const {type, providerMetadata, ...rest} = part
  const metadata = jsonObjectSchema.safeParse(providerMetadata)
  return {
    type: 'opaque',
    kind: textStart(type, 100) || 'unnamed',
    value: storable(rest),
    ...(metadata.success && {providerMetadata: metadata.data}),
  }
}

function storable(rest: Record<string, unknown>): {[key: string]: Json} {
  const parsed = jsonObjectSchema.safeParse(withoutUndefined(rest))
  if (!parsed.success) return {leftOut: 'JSON cannot represent this part.'}
  const bytes = jsonBytes(parsed.data)
  return bytes > limits.valueBytes
    ? {leftOut: `This part has ${bytes} bytes; at most ${limits.valueBytes} are stored.`}
    : parsed.data
}

/** JSON has no undefined, so such fields are dropped. */
function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))
}
