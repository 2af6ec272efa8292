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

/**
 * Registers the public route of the OpenAPI document. It describes this build only and contains no data of a tenant.
 */
export function openApiRoutes(app: App): void {
  let document: OpenApiDocument | null = null
  handle(app, readDocument, () => {
    // Created on the first request, when every route is registered.
    document ??= openApiDocument(routesOf(app))
    return document
  })
}
