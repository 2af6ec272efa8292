import * as z from 'zod'
import {HoldfastError} from './errors.ts'
import {kindOf} from './expectation.ts'
import {countFaults, describedFaults, type FieldFault, fieldFaults} from './field-faults.ts'

/**
 * Checks the options of a public entry before it does anything. The options are not copied: functions and instances in
 * them stay what they are. The error names every wrong field, what was expected there and what came instead.
 *
 * @throws HoldfastError `misconfigured` with `details.issues`
 * @example checkOptions(z.strictObject({port: portNumber}), options, 'serveNode')
 */
export function checkOptions(schema: z.ZodType, options: unknown, entry: string): void {
  const error = errorOf(schema, options, entry)
  if (error) throw misconfigured(entry, fieldFaults(error, options, schema), countFaults(error))
}

/** `misconfigured` for the fields given; of many, the first are named and the rest are counted. */
export function misconfigured(entry: string, faults: readonly FieldFault[], count = faults.length): HoldfastError {
  const issues = faults.slice(0, describedFaults)
  const named = issues.map(({field, expected}) => (field === '' ? expected : `${field}: ${expected}`))
  const more = count > issues.length ? [`and ${count - issues.length} more`] : []
  const [field] = issues.map(issue => issue.field)
  return new HoldfastError('misconfigured', `${entry}: ${[...named, ...more].join('; ')}`, {
    details: {what: entry, issues, ...(field && {field})},
  })
}

/** A getter or proxy of the caller may throw while it is read. */
function errorOf(schema: z.ZodType, options: unknown, entry: string): z.ZodError | undefined {
  try {
    return schema.safeParse(options).error
  } catch (cause) {
    const message = `${entry}: expected plain options, but reading them threw an error`
    throw new HoldfastError('misconfigured', message, {cause})
  }
}

/** A value that is kept as it is. `what` completes "expected …". */
export function valueThat<Value>(what: string, holds: (value: unknown) => boolean) {
  return z.custom<Value>(holds, {error: ({input}) => `expected ${what}, got ${kindOf(input)}`})
}

// biome-ignore lint/complexity/noBannedTypes: any function fits.
export const functionSchema = valueThat<Function>('a function', value => typeof value === 'function')

/** Text that is not only spaces. */
export const filledText = valueThat<string>(
  'text that is not empty',
  value => typeof value === 'string' && value.trim() !== '',
)

/** An instance of any class, or a plain object, with these methods. `what` says which, like "a store, as openPgStore returns it". */
export function havingMethods<Value = unknown>(what: string, methods: readonly string[]) {
  return valueThat<Value>(what, value => {
    const isObject = (typeof value === 'object' || typeof value === 'function') && value !== null
    return isObject && methods.every(name => typeof (value as Record<string, unknown>)[name] === 'function')
  })
}

/** What `setTimeout` takes: a longer pause would end at once. */
const longestMs = 2 ** 31 - 1

export const positiveMs = z.int().min(1).max(longestMs)
export const pauseMs = z.int().min(0).max(longestMs)
/** A number of things or bytes; NaN and Infinity would switch a limit off. */
export const amountOf = (least: number) => z.int().min(least)

export const environmentSchema = havingMethods('an environment with now, elapsed, id and random', [
  'now',
  'elapsed',
  'id',
  'random',
])
export const embedderSchema = havingMethods('an embedder with name, dimensions and embed', ['embed'])

/** An empty text would name the working directory. */
export const dataDirSchema = valueThat<string>(
  'the path of a folder or "memory://"',
  value => typeof value === 'string' && value !== '',
)
