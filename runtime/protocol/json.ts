import * as z from 'zod'
import {limits} from './version.ts'

export type Json = null | boolean | number | string | Json[] | {[key: string]: Json}

/**
 * Accepts exactly what JSON text gives back unchanged and hands the value on uncopied. [LOG-5]
 * `z.json()` would copy and silently skip a "__proto__" key; here what cannot round-trip is refused by name.
 */
export const jsonSchema = jsonWithin(limits.jsonDepth)
export const jsonObjectSchema = jsonSchema.refine(isJsonObject, 'expected a JSON object')
/** Schema of an event's data. It allows more levels than one value, for the fields around the values. */
export const eventDataSchema = jsonWithin(limits.eventDepth).refine(isJsonObject, 'expected a JSON object')

function jsonWithin(depth: number) {
  return z.custom<Json>().superRefine((value, context) => {
    const fault = unrepresentable(value, [], depth)
    if (fault) context.addIssue({code: 'custom', message: fault.expected, path: fault.path})
  })
}

function isJsonObject(value: Json): value is {[key: string]: Json} {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Fault = {path: (string | number)[]; expected: string}

/** `room`: remaining levels of nesting. */
function unrepresentable(value: unknown, path: (string | number)[], room: number): Fault | null {
  if (room < 0) return {path, expected: `expected at most ${path.length - 1} levels of nesting`}
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return null
    case 'number':
      return numberFault(value, path)
    case 'object':
      return value === null ? null : containerFault(value, path, room)
    default:
      return {path, expected: `expected JSON, got ${typeof value}`}
  }
}

/**
 * An integer beyond 2^53 may have been rounded when it was parsed, which would turn one id into another. From 10^21 on,
 * JSON writes a number with an exponent, so it cannot be mistaken for an exact id.
 */
function numberFault(value: number, path: (string | number)[]): Fault | null {
  if (!Number.isFinite(value)) return {path, expected: `expected a finite number, got ${value}`}
  if (Object.is(value, -0)) return {path, expected: 'expected 0, got −0, which JSON text does not keep'}
  if (!Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21) return null
  return {path, expected: 'expected an integer within ±(2^53 − 1); send a larger one as a string'}
}

function containerFault(value: object, path: (string | number)[], room: number): Fault | null {
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const fault = unrepresentable(value[i], [...path, i], room - 1)
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
    const fault = unrepresentable(inner, [...path, key], room - 1)
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
