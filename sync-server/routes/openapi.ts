import * as z from 'zod'
import {type OpenApiDocument, openApiDocument} from '../openapi.ts'
import type {App} from './http.ts'
import {handle, route, routesOf} from './route.ts'

const readDocument = route({
  name: 'readDocument',
  method: 'GET',
  path: '/v1/openapi.json',
  summary: 'This document.',
  answers: {200: z.custom<OpenApiDocument>(value => z.looseObject({openapi: z.string()}).safeParse(value).success)},
  open: true,
})

/** Asked without a token: it tells what this build can do, which its source tells as well, and nothing of anybody. */
export function openApiRoutes(app: App): void {
  let document: OpenApiDocument | null = null
  handle(app, readDocument, () => {
    // Not before the first question: by then every route is registered.
    document ??= openApiDocument(routesOf(app))
    return document
  })
}
