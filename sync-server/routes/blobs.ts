import {blobIdSchema} from '../../runtime/protocol/blob.ts'
import {sessionIdSchema} from '../../runtime/protocol/ids.ts'
import {type BlobKeeper, keepBlob, readBlob} from '../authority/blobs.ts'
import type {App} from './http.ts'
import {handle, type Media, nothingSchema, route} from './route.ts'

const bytes: Media = {mediaType: 'application/octet-stream', description: 'Exactly the bytes whose hash the id is.'}
const params = {session: sessionIdSchema, blob: blobIdSchema}
const path = '/v1/sessions/:session/blobs/:blob'

const putBlob = route({
  name: 'putBlob',
  method: 'PUT',
  path,
  summary: 'Keeps the bytes of a blob before an event names it; the same again changes nothing.',
  params,
  body: bytes,
  answers: {200: nothingSchema},
  errors: ['not_found', 'erased', 'budget_exhausted'],
})

const getBlob = route({
  name: 'getBlob',
  method: 'GET',
  path,
  summary: 'The bytes of a blob of a session.',
  params,
  answers: {200: bytes},
  errors: ['not_found', 'erased', 'budget_exhausted'],
})

export function blobRoutes(app: App, keeper: BlobKeeper): void {
  handle(app, putBlob, async ({params: {session, blob}, principal}, c) => {
    const bytes = new Uint8Array(await c.req.arrayBuffer())
    await keepBlob(keeper, principal, session, {id: blob, bytes})
    return {}
  })

  // Always served as an attachment of raw bytes: a blob may be crafted to look like a page of this origin.
  handle(app, getBlob, async ({params: {session, blob}, principal}, c) => {
    const bytes = await readBlob(keeper, principal, session, blob)
    const headers = {'content-type': 'application/octet-stream', 'content-disposition': 'attachment'}
    return c.body(new Uint8Array(bytes), 200, headers)
  })
}
