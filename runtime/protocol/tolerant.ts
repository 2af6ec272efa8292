import type * as z from 'zod'

/**
 * Checks what another build has written, without the fields that this one does not know: a newer peer may add optional
 * fields to answers, frames and logged events. Everything else must be as the schema says. Requests are parsed as they
 * stand, because a field that the server ignores would be a wish that it does not grant. [LOG-8]
 */
export function parseTolerant<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): z.ZodSafeParseResult<z.output<Schema>> {
  let candidate = value
  for (;;) {
    const result = schema.safeParse(candidate)
    if (result.success) return result
    const unknown = unknownFields(result.error)
    // Each round removes at least one field, so this ends.
    if (unknown.length === 0) return result
    candidate = unknown.reduce((rest, {path, keys}) => without(rest, path, keys), candidate)
  }
}

/** True when fields that the schema does not know are all that is wrong. */
export function onlyUnknownFields(error: z.ZodError): boolean {
  return unknownFields(error).length > 0
}

type Unknown = {path: readonly PropertyKey[]; keys: readonly string[]}

function unknownFields({issues}: z.ZodError): Unknown[] {
  const unknown = issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' ? [{path: issue.path, keys: issue.keys}] : [],
  )
  return unknown.length === issues.length ? unknown : []
}

function without(value: unknown, path: readonly PropertyKey[], keys: readonly string[]): unknown {
  const [first, ...rest] = path
  if (Array.isArray(value)) return value.map((each, at) => (at === first ? without(each, rest, keys) : each))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  if (first === undefined) return Object.fromEntries(entries.filter(([key]) => !keys.includes(key)))
  return Object.fromEntries(entries.map(([key, each]) => [key, key === first ? without(each, rest, keys) : each]))
}
