import * as z from 'zod'
import {limits} from './version.ts'

export type Json = null | boolean | number | string | Json[] | {[key: string]: Json}

/**
 * Accepts exactly what JSON text gives back unchanged and hands the value on uncopied. [LOG-5]
 * `z.json()` would copy and silently skip a "__proto__" key; here what cannot round-trip is refused by name.
 */
export const jsonSchema = z.custom<Json>().superRefine((value, context) => {
  const fault = unrepresentable(value, [], 0)
  if (fault) context.addIssue({code: 'custom', message: fault.expected, path: fault.path})
})

export const jsonObjectSchema = jsonSchema.refine(
  (value): value is {[key: string]: Json} => typeof value === 'object' && value !== null && !Array.isArray(value),
  'expected a JSON object',
)

type Fault = {path: (string | number)[]; expected: string}

function unrepresentable(value: unknown, path: (string | number)[], depth: number): Fault | null {
  if (depth > limits.jsonDepth) return {path, expected: `expected at most ${limits.jsonDepth} levels of nesting`}
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null
    case 'number':
      return Number.isFinite(value) &&
        !Object.is(value, -0) &&
        !(Number.isInteger(value) && !Number.isSafeInteger(value))
        ? null
        : {path, expected: 'expected a finite number within ±(2^53 − 1); send larger integers as strings'}
    case 'object':
      return value === null ? null : containerFault(value, path, depth)
    default:
      return {path, expected: `expected JSON, got ${typeof value}`}
  }
}

function containerFault(value: object, path: (string | number)[], depth: number): Fault | null {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = unrepresentable(value[i], [...path, i], depth + 1)
      if (fault) return fault
    }
    return null
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    return {path, expected: `expected a plain object, got ${value.constructor?.name ?? 'an exotic one'}`}
  }
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') return {path, expected: 'expected no key named "__proto__"'}
    const fault = unrepresentable(inner, [...path, key], depth + 1)
    if (fault) return fault
  }
  return null
}

/** UTF-8 bytes of the value's JSON text, without encoding it. */
export function jsonBytes(value: unknown): number {
  const text = JSON.stringify(value)
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    // A surrogate pair is two units here and four bytes there, so each half counts one more.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1
  }
  return bytes
}

/** Equal as JSON: the order of keys means nothing. */
export function sameJson(a: Json, b: Json): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const left = new Map(Object.entries(a))
  const right = Object.entries(b)
  return left.size === right.length && right.every(([key, value]) => left.has(key) && sameJson(left.get(key)!, value))
}
