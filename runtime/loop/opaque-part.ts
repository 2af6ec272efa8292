import {type Json, jsonBytes, jsonObjectSchema} from '../protocol/json.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {limits} from '../protocol/version.ts'

export type OpaquePart = Extract<ReplyPart, {type: 'opaque'}>

/**
 * A part of a reply that Holdfast has no meaning for, kept as it came: a source, a file, a provider's own tool call.
 * One that JSON cannot hold, or that is over 64 KiB, is kept by its name and size alone.
 */
export function opaquePart(part: {readonly type: string; readonly [field: string]: unknown}): OpaquePart {
  const {type, providerMetadata, ...rest} = part
  const metadata = jsonObjectSchema.safeParse(providerMetadata)
  return {
    type: 'opaque',
    kind: type.slice(0, 100) || 'unnamed',
    value: storable(rest),
    ...(metadata.success && {providerMetadata: metadata.data}),
  }
}

function storable(rest: Record<string, unknown>): {[key: string]: Json} {
  const parsed = jsonObjectSchema.safeParse(withoutUndefined(rest))
  if (!parsed.success) return {leftOut: 'It holds what JSON cannot.'}
  const bytes = jsonBytes(parsed.data)
  return bytes > limits.valueBytes
    ? {leftOut: `It holds ${bytes} bytes; at most ${limits.valueBytes} are kept.`}
    : parsed.data
}

/** JSON has no undefined, and a field that is not set is not there. */
function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined))
}
