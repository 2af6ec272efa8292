import * as z from 'zod'
import {expectationOf} from './expectation.ts'
import {textStart} from './text.ts'

/** One wrong field of a value, and what was expected there. */
export type FieldFault = {field: string; expected: string}

/** How many faults of a value are described: a value from outside can have any number of unknown fields. */
export const describedFaults = 8

/**
 * The first wrong fields of a checked value, in plain words. A field that the schema does not know comes with the
 * nearest name that it knows.
 */
export function fieldFaults(error: z.ZodError, value: unknown, schema: z.ZodType | null): FieldFault[] {
  const faults: FieldFault[] = []
  for (const issue of error.issues.slice(0, describedFaults)) {
    if (issue.code !== 'unrecognized_keys') {
      const {path, expected} = expectationOf(issue, value)
      faults.push({field: fieldName(path), expected})
      continue
    }
    const known = schema ? namesAt(schema, value, issue.path) : []
    for (const key of issue.keys.slice(0, describedFaults)) {
      faults.push({field: fieldName([...issue.path, key]), expected: unknownName(key, known)})
    }
  }
  return faults.slice(0, describedFaults)
}

export function countFaults(error: z.ZodError): number {
  return error.issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0)
}

/** A field of a cyclic value has no end, and a key can be as long as a value. */
function fieldName(path: PropertyKey[]): string {
  const names = path.map(name => textStart(String(name), 80))
  return (names.length > 12 ? [...names.slice(0, 12), '…'] : names).join('.')
}

function unknownName(name: string, known: readonly string[]): string {
  const near = nearName(name, known)
  return near === null ? 'expected no such field' : `expected no such field, did you mean "${near}"?`
}

/** The known name that differs from a given name by at most a third of its characters; null if there is none. */
export function nearName(name: string, known: readonly string[]): string | null {
  if (name.length > 40) return null
  const [nearest] = known
    .map(candidate => ({candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase())}))
    .filter(({candidate, distance}) => distance * 3 <= Math.max(name.length, candidate.length))
    .toSorted((a, b) => a.distance - b.distance)
  return nearest?.candidate ?? null
}

/** Edit distance with exchanged neighbours as one edit. */
function editDistance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({length: to.length + 1}, (_, i) => i)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1)
      const isExchange = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      const exchanged = isExchange ? at(before, j - 2) + 1 : replaced
      next.push(Math.min(replaced, exchanged, at(row, j) + 1, at(next, j - 1) + 1))
    }
    before = row
    row = next
  }
  return at(row, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? 0
}

const choices = new WeakMap<z.ZodType, (value: unknown) => z.ZodType>()

/** Checks a value by the schema that `choose` picks for it. Its faults are more exact than those of a union. */
export function chosenSchema(choose: (value: unknown) => z.ZodType): z.ZodType {
  const schema = z.unknown().superRefine((value, context) => {
    const result = choose(value).safeParse(value)
    for (const issue of result.error?.issues ?? []) context.addIssue({...issue} as z.core.$ZodRawIssue)
  })
  choices.set(schema, choose)
  return schema
}

/** The names that the strict object at a path knows. */
function namesAt(schema: z.ZodType, value: unknown, path: PropertyKey[]): string[] {
  const choose = choices.get(schema)
  if (choose) return namesAt(choose(value), value, path)
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodReadonly
  ) {
    return namesAt(schema.unwrap() as z.ZodType, value, path)
  }
  const [key, ...rest] = path
  if (schema instanceof z.ZodObject) {
    const shape = schema.shape as Record<PropertyKey, z.ZodType>
    if (key === undefined) return Object.keys(shape)
    return shape[key] ? namesAt(shape[key], fieldOf(value, key), rest) : []
  }
  if (key === undefined) return []
  if (schema instanceof z.ZodArray) return namesAt(schema.element as z.ZodType, fieldOf(value, key), rest)
  if (schema instanceof z.ZodRecord) return namesAt(schema.valueType as z.ZodType, fieldOf(value, key), rest)
  return []
}

function fieldOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[key] : undefined
}
