import * as z from 'zod'
import {textStart} from './text.ts'

/** Where a value is wrong, and what was expected there. */
export type Expectation = {path: PropertyKey[]; expected: string}

/**
 * What was expected of a value, in plain English whatever Zod's locale is. A message that the schema itself gives stands
 * as it is. Of several shapes, the one that is nearest to `input` (the whole value that was checked) is described.
 */
export function expectationOf(issue: z.core.$ZodIssue, input?: unknown): Expectation {
  const {path} = issue
  const found = valueAt(input, path)
  const own = ownMessage(issue, found)
  if (own !== null) return {path, expected: own}
  switch (issue.code) {
    case 'unrecognized_keys':
      return {path: [...path, issue.keys[0] ?? ''], expected: 'expected no such field'}
    case 'invalid_key':
    case 'invalid_element':
      return {path, expected: innerOf(issue.issues[0])}
    case 'invalid_union':
      return nearestShape(issue, input)
    case 'invalid_type':
      return {path, expected: `expected ${typeName(issue.expected)}, got ${kindOf(found)}`}
    default:
      return {path, expected: `expected ${boundOf(issue)}${gotNumber(found)}`}
  }
}

/** The kind of a value, and a number as it is: other content may be confidential, or long. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  switch (typeof value) {
    case 'number':
      return Object.is(value, -0) ? '−0' : String(value)
    case 'string':
      return value === '' ? 'an empty string' : 'a string'
    case 'boolean':
      return String(value)
    case 'object':
      return Array.isArray(value) ? 'a list' : classOf(value)
    default:
      return `a ${typeof value}`
  }
}

function classOf(value: object): string {
  const name = quietly(
    () => (Object.getPrototypeOf(value) as {constructor?: {name?: unknown}} | null)?.constructor?.name,
  )
  return typeof name === 'string' && name !== '' && name !== 'Object' ? `a ${textStart(name, 40)}` : 'an object'
}

function valueAt(input: unknown, path: PropertyKey[]): unknown {
  return quietly(() => path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)?.[key], input))
}

/** Getters and proxies of a caller may throw. */
function quietly<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The message of a schema, as opposed to the words that Zod or its locale has for any schema. */
function ownMessage(issue: z.core.$ZodIssue, found: unknown): string | null {
  if (/^(Invalid|Too (small|big)|Unrecognized)\b/.test(issue.message)) return null
  const words = z.config().localeError?.({...issue, input: found} as z.core.$ZodRawIssue)
  const common = typeof words === 'string' ? words : words?.message
  return issue.message === common ? null : issue.message
}

function innerOf(issue: z.core.$ZodIssue | undefined): string {
  return issue ? expectationOf(issue).expected.replace('expected ', 'expected as key ') : 'expected another key'
}

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  bigint: 'a bigint',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  tuple: 'a list',
  date: 'a date',
  map: 'a Map',
  set: 'a Set',
  function: 'a function',
  never: 'no such field',
  nonoptional: 'a value',
  undefined: 'nothing',
  void: 'nothing',
}

function typeName(expected: string): string {
  return typeNames[expected] ?? expected
}

function gotNumber(found: unknown): string {
  return typeof found === 'number' ? `, got ${kindOf(found)}` : ''
}

/** What the limit of a schema asks for. */
function boundOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'too_small':
      return amount('at least', 'more than', issue.minimum, issue)
    case 'too_big':
      return amount('at most', 'less than', issue.maximum, issue)
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`
    case 'invalid_value':
      return oneOf(issue.values)
    case 'invalid_format':
      return issue.pattern ? `text that matches ${issue.pattern}` : `a valid ${issue.format}`
    default:
      return 'a valid value'
  }
}

type Bounded = {origin: string; inclusive?: boolean | undefined}

function amount(within: string, beyond: string, limit: number | bigint, {origin, inclusive}: Bounded): string {
  const bound = `${inclusive === false ? beyond : within} ${limit}`
  if (origin === 'string') return `${bound} ${limit === 1 ? 'character' : 'characters'}`
  if (origin === 'number' || origin === 'int' || origin === 'bigint') return `a number of ${bound}`
  if (origin === 'file') return `${bound} bytes`
  return origin === 'date' ? `a date of ${bound}` : `${bound} ${limit === 1 ? 'entry' : 'entries'}`
}

function oneOf(values: readonly unknown[]): string {
  const [last, ...before] = values.map(value => (typeof value === 'string' ? `"${value}"` : String(value))).toReversed()
  return before.length === 0 ? String(last) : `${before.toReversed().join(', ')} or ${last}`
}

function nearestShape(issue: z.core.$ZodIssueInvalidUnion, input: unknown): Expectation {
  const {path, errors} = issue
  const types = errors.map(([first, ...more]) =>
    more.length === 0 && first?.code === 'invalid_type' && first.path.length === 0 ? typeName(first.expected) : null,
  )
  if (errors.length > 0 && !types.includes(null)) {
    return {path, expected: `expected ${types.join(' or ')}, got ${kindOf(valueAt(input, path))}`}
  }
  const kinds = 'options' in issue && Array.isArray(issue.options) ? issue.options : []
  if (kinds.length > 0) return {path, expected: `expected ${oneOf(kinds)}`}
  const [nearest] = errors.toSorted((a, b) => a.length - b.length)
  if (!nearest?.[0]) return {path, expected: 'expected a valid value'}
  const inner = expectationOf(nearest[0], valueAt(input, path))
  return {...inner, path: [...path, ...inner.path]}
}
