import * as z from 'zod'
import {type ErrorCode, errorMeanings} from '../runtime/protocol/errors.ts'
import {limits, protocolVersion} from '../runtime/protocol/version.ts'
import {protocolHeader} from '../runtime/protocol/wire.ts'
import {type JsonSchema, schemaBook} from './openapi-schemas.ts'
import {statusOf} from './routes/http.ts'
import {errorsOf, type Media, type Route} from './routes/route.ts'

type Reference = {$ref: string}
type MediaType = {schema: JsonSchema; 'x-item'?: JsonSchema}
type Response = {
  description: string
  headers?: Record<string, {schema: JsonSchema}>
  content: Record<string, MediaType>
}
type Parameter = {name: string; in: 'path' | 'query' | 'header'; required: boolean; schema: JsonSchema}

export type OpenApiOperation = {
  operationId: string
  summary: string
  security?: []
  parameters: (Parameter | Reference)[]
  requestBody?: {required: true; content: Record<string, MediaType>}
  responses: Record<string, Response | Reference>
}
export type OpenApiDocument = {
  openapi: '3.1.1'
  jsonSchemaDialect: string
  info: {title: string; version: string; description: string}
  security: [{bearer: []}]
  paths: Record<string, Record<string, OpenApiOperation>>
  components: {
    schemas: Record<string, JsonSchema>
    responses: Record<string, Response>
    parameters: Record<string, Parameter>
    securitySchemes: Record<string, {type: 'http'; scheme: 'bearer'; description: string}>
  }
}

/** Creates the OpenAPI document of these routes as a value for `JSON.stringify`. Deterministic. */
export function openApiDocument(routes: readonly Route[]): OpenApiDocument {
  const book = schemaBook()
  const responses: Record<string, Response> = {}
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    const path = templateOf(route.path)
    paths[path] = {...paths[path], [route.method.toLowerCase()]: operationOf(route, book, responses)}
  }
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {title: 'Holdfast sync server', version: String(protocolVersion), description},
    security: [{bearer: []}],
    paths,
    components: {
      schemas: book.components(),
      responses,
      parameters: {protocol: protocolParameter},
      securitySchemes: {bearer: {type: 'http', scheme: 'bearer', description: 'The application’s own token.'}},
    },
  }
}

type Book = ReturnType<typeof schemaBook>

function operationOf(route: Route, book: Book, responses: Record<string, Response>): OpenApiOperation {
  const {name, summary, params = {}, query = {}, body, answers, open} = route
  const parameters = [
    ...Object.entries(params).map(([key, schema]) => parameterOf('path', key, schema, book)),
    ...Object.entries(query).map(([key, schema]) => parameterOf('query', key, schema, book)),
  ]
  return {
    operationId: name,
    summary,
    ...(open && {security: []}),
    parameters: open ? parameters : [...parameters, {$ref: '#/components/parameters/protocol'}],
    ...(body && {requestBody: {required: true, content: contentOf(`${titled(name)}Body`, body, book)}}),
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, answer]) => [
          status,
          {
            description: answer instanceof z.ZodType ? 'The answer, as JSON.' : answer.description,
            content: contentOf(`${titled(name)}Answer`, answer, book),
          },
        ]),
      ),
      ...refusalsOf(route, responses),
    },
  }
}

function parameterOf(place: 'path' | 'query', name: string, schema: z.ZodType, book: Book): Parameter {
  return {name, in: place, required: place === 'path', schema: book.inline(schema)}
}

/** OpenAPI 3.1 has no schema for the items of a stream, so it is given as `x-item`. */
function contentOf(id: string, content: z.ZodType | Media, book: Book): Record<string, MediaType> {
  if (content instanceof z.ZodType) return {'application/json': {schema: book.reference(id, content)}}
  const item = content.data && {'x-item': book.reference(`${id}Item`, content.data)}
  return {[content.mediaType]: {schema: {type: 'string'}, ...item}}
}

/** Returns the error responses by status. Routes with the same codes share a response. */
function refusalsOf(route: Route, responses: Record<string, Response>): Record<string, Reference> {
  const all = errorsOf(route)
  const statuses = [...new Set(all.map(statusOf))]
  return Object.fromEntries(
    statuses.map(status => {
      const codes = all.filter(code => statusOf(code) === status)
      const id = codes.map(titled).join('Or')
      responses[id] ??= refusal(codes)
      return [status, {$ref: `#/components/responses/${id}`}]
    }),
  )
}

function refusal(codes: readonly ErrorCode[]): Response {
  return {
    description: codes.map(code => `\`${code}\`: ${errorMeanings[code]}`).join(' '),
    ...(codes.includes('rate_limited') && {headers: {'retry-after': {schema: {type: 'string', pattern: '^\\d+$'}}}}),
    content: {
      'application/json': {
        schema: {
          $ref: '#/components/schemas/ErrorAnswer',
          properties: {error: {properties: {code: {enum: [...codes]}}}},
        },
      },
    },
  }
}

/** Converts `/v1/facts/:key{.+}` to `/v1/facts/{key}`. */
function templateOf(path: string): string {
  return path.replaceAll(/:(\w+)(\{[^}]*\})?/g, '{$1}')
}

/** Converts `not_found` to `NotFound` and `pushEvents` to `PushEvents`. */
function titled(name: string): string {
  return name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())
}

const protocolParameter: Parameter = {
  name: protocolHeader,
  in: 'header',
  required: false,
  schema: {const: String(protocolVersion), description: 'A server of another protocol refuses the request.'},
}

const kib = (bytes: number) => `${bytes / 1024} KiB`

const description = [
  'Order, operations, approvals, custody and memory of agents that work on devices: the server has the last word.',
  'Bodies are JSON, whatever content type is sent. An answer that is not 2xx carries an error with a code, a sentence ' +
    'that names the field and what was expected there, and details; a record of somebody else answers like an unknown one.',
  `Taken are at most: bodies of ${kib(limits.bodyBytes)} unless the host says otherwise, ${limits.batchEvents} events a ` +
    `batch, ${kib(limits.eventBytes)} an event, ${limits.memoryBatch} proposals of memory a batch, and ` +
    `${limits.jsonDepth} levels of nesting; pages have at most ${limits.pageEvents} events or ${limits.memoryPage} items.`,
  'A stream of events (text/event-stream) gives signs of life as comments; `x-item` is the schema of the data of one.',
].join('\n\n')
