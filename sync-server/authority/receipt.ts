import {givenJson} from '../../runtime/protocol/given-json.ts'
import {type Json, jsonBytes, jsonSchema} from '../../runtime/protocol/json.ts'
import {redactSecrets} from '../../runtime/protocol/redact-secrets.ts'
import {limits} from '../../runtime/protocol/version.ts'

/**
 * Converts a receipt to storable JSON. The effect has happened, so any receipt must be recorded: values that JSON
 * cannot represent become text, and a receipt that is too large is replaced by a note. [OP-3, VIEW-5]
 */
export function storableReceipt(receipt: unknown): Json {
  const given = jsonSchema.safeParse(givenJson(receipt))
  const json = redactSecrets(given.success ? given.data : asJson(receipt, 0))
  return jsonBytes(json) > limits.valueBytes ? {note: 'The receipt was over 64 KiB and is not kept.'} : json
}

function asJson(value: unknown, depth: number): Json {
  if (jsonSchema.safeParse(value).success && depth + depthOf(value) <= limits.jsonDepth) return value as Json
  if (value === undefined || Object.is(value, -0)) return value === undefined ? null : 0
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  if (typeof value === 'function') return '[function]'
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth >= limits.jsonDepth) return '[nested too deeply]'
  if (Array.isArray(value)) return Array.from(value, item => asJson(item, depth + 1))
  if (value instanceof Map) return asJson([...value], depth + 1)
  if (value instanceof Set) return asJson([...value], depth + 1)
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`
  const members = Object.entries(value).filter(([key, inner]) => key !== '__proto__' && inner !== undefined)
  return Object.fromEntries(members.map(([key, inner]) => [key, asJson(inner, depth + 1)]))
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
