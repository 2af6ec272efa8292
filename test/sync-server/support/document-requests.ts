import fc from 'fast-check'
import type {OpenApiDocument, OpenApiOperation} from '../../../sync-server/openapi.ts'
import type {JsonSchema} from '../../../sync-server/openapi-schemas.ts'

/** One operation of the document, and what a client made from it would know. */
export type Asking = {method: string; path: string; operation: OpenApiOperation}
/** A request as such a client would send it: `body` is a value yet, so that it can be spoiled. */
export type Draft = {params: Record<string, string>; query: Record<string, string>; body?: unknown}
/** Values by the name of a schema, or of a field after a dot: a record that exists is found by no random id. */
export type Known = Readonly<Record<string, fc.Arbitrary<unknown>>>

export function askingsOf(document: OpenApiDocument): Asking[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({method: method.toUpperCase(), path, operation})),
  )
}

/** Requests that the document allows. */
export function draftsOf({operation}: Asking, document: OpenApiDocument, known: Known = {}): fc.Arbitrary<Draft> {
  const of = (schema: JsonSchema) => arbitraryOf(schema, document, known)
  const parametersIn = (place: string) =>
    operation.parameters.flatMap(one => ('in' in one && one.in === place ? [[one.name, of(one.schema)] as const] : []))
  const body = operation.requestBody?.content['application/json']?.schema
  return fc.record({
    params: fc.record(Object.fromEntries(parametersIn('path'))) as fc.Arbitrary<Draft['params']>,
    query: fc.record(Object.fromEntries(parametersIn('query')), {requiredKeys: []}) as fc.Arbitrary<Draft['query']>,
    ...(body && {body: of(body)}),
  })
}

/** The address of a draft; a lone surrogate has no place in one. */
export function addressOf({path}: Asking, {params, query}: Pick<Draft, 'params' | 'query'>): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent((params[name] ?? '').replaceAll(/\p{Surrogate}/gu, '')),
  )
  const search = new URLSearchParams(Object.entries(query)).toString()
  return search ? `${filled}?${search}` : filled
}

function arbitraryOf(schema: JsonSchema, document: OpenApiDocument, known: Known): fc.Arbitrary<unknown> {
  const of = (inner: unknown) => arbitraryOf(inner as JsonSchema, document, known)
  if (schema.$ref) {
    const name = schema.$ref.replace('#/components/schemas/', '')
    const named = document.components.schemas[name]
    if (!named) throw new Error(`${schema.$ref} is not in the document`)
    if (known[name]) return known[name]
    return name === 'Event' ? eventOf(named, of) : of(named)
  }
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  const shapes = schema.anyOf ?? schema.oneOf
  if (shapes) return fc.oneof(...shapes.map(of))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map(type => of({...schema, type})))
  switch (schema.type) {
    case 'object':
      return objectOf(schema, of, known)
    case 'array': {
      const least = schema.minItems ?? 0
      return fc.array(of(schema.items ?? {}), {minLength: least, maxLength: Math.min(schema.maxItems ?? 3, least + 3)})
    }
    case 'string':
      return stringOf(schema)
    case 'integer':
      return fc.integer({min: leastOf(schema, 1), max: Math.min(schema.maximum ?? 1e6, 2 ** 31 - 1)})
    case 'number':
      return fc
        .double({min: leastOf(schema, Number.MIN_VALUE), max: schema.maximum ?? 1e12, noNaN: true})
        .map(n => n + 0)
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.jsonValue({maxDepth: 2})
  }
}

/** Of a kind that the server knows, with the data of that kind, so that there is something in it to judge. */
function eventOf(envelope: JsonSchema, of: (inner: unknown) => fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const kinds = Object.entries(envelope['x-data'] as Record<string, JsonSchema>)
  return fc
    .constantFrom(...kinds)
    .chain(([kind, data]) => fc.tuple(fc.constant(kind), of(data), of(envelope), fc.integer({min: 1, max: 20})))
    .map(([kind, data, event, deviceSeq]) => ({...(event as object), kind, data, deviceSeq, seq: null, v: 1}))
}

function leastOf({minimum, exclusiveMinimum}: JsonSchema, step: number): number {
  return minimum ?? (typeof exclusiveMinimum === 'number' ? exclusiveMinimum + step : 0)
}

function objectOf(
  schema: JsonSchema,
  of: (inner: unknown) => fc.Arbitrary<unknown>,
  known: Known,
): fc.Arbitrary<unknown> {
  const {properties = {}, required = [], additionalProperties: others, propertyNames = {type: 'string'}} = schema
  const named = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [
      name,
      (hasChoice(inner) ? undefined : known[`.${name}`]) ?? of(inner),
    ]),
  )
  const own = fc.record(named, {requiredKeys: required})
  if (typeof others !== 'object' || Object.keys(properties).length > 0) return own
  return fc.dictionary(of(propertyNames).map(String), of(others), {maxKeys: 3})
}

/** A field that is one of a few words is no role or version, whatever it is called. */
function hasChoice(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && 'enum' in schema
}

/** Also what is hard to store, as far as the schema does not forbid it. */
function stringOf({pattern, minLength = 0, maxLength = 60}: JsonSchema): fc.Arbitrary<string> {
  if (pattern) return fc.stringMatching(new RegExp(pattern))
  const bounds = {minLength, maxLength: Math.min(maxLength, Math.max(60, minLength))}
  const within = (text: string) => text.length >= minLength && text.length <= maxLength
  const hard = fc.constantFrom('a\0b', 'a\ud800', '\udc00', '🦉', '__proto__', 'x'.repeat(maxLength)).filter(within)
  const plain = fc.string({...bounds, unit: 'binary'}).filter(within)
  return fc.oneof({weight: 6, arbitrary: fc.string(bounds)}, {weight: 2, arbitrary: plain}, hard)
}
