import * as z from 'zod'
import {HoldfastError} from '../protocol/errors.ts'

/**
 * Refuses a tool whose input cannot be written as JSON, such as a date or a map. Otherwise the first call would end the
 * run.
 *
 * @throws HoldfastError `misconfigured` naming the field
 */
export function requireJsonInput(tool: string, input: z.ZodType): void {
  const found = findFault(input, 'input')
  if (!found) return
  const message = `tool ${tool}: ${found.field}: expected a schema of JSON values (${found.why}); use z.iso.datetime() for a date, z.record() for a map`
  throw new HoldfastError('misconfigured', message, {details: {field: found.field}})
}

/** Finds the innermost field without a JSON Schema. */
function findFault(schema: z.ZodType, field: string): {field: string; why: string} | null {
  const why = faultOf(schema)
  if (why === null) return null
  for (const [name, inner] of Object.entries(shapeOf(schema))) {
    const found = findFault(inner, `${field}.${name}`)
    if (found) return found
  }
  return {field, why}
}

function faultOf(schema: z.ZodType): string | null {
  try {
    z.toJSONSchema(schema, {io: 'input'})
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function shapeOf(schema: z.ZodType): Record<string, z.ZodType> {
  return schema instanceof z.ZodObject ? (schema.shape as Record<string, z.ZodType>) : {}
}
