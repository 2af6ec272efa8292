import {blobIdSchema} from '../../runtime/protocol/blob.ts'
import {parse} from '../../runtime/protocol/errors.ts'
import {type BlobKeeper, keepBlob, readBlob} from '../authority/blobs.ts'
import {type App, type Ctx, sessionParam} from './http.ts'

export function blobRoutes(app: App, keeper: BlobKeeper): void {
  app.put('/v1/sessions/:id/blobs/:blob', async c => {
    const [session, id] = [sessionParam(c), blobParam(c)]
    const bytes = new Uint8Array(await c.req.arrayBuffer())
    await keepBlob(keeper, c.get('principal'), session, {id, bytes})
    return c.json({})
  })

  // Whatever was put, a browser must take it for bytes: it may have been made to look like a page of this origin.
  app.get('/v1/sessions/:id/blobs/:blob', async c => {
    const bytes = await readBlob(keeper, c.get('principal'), sessionParam(c), blobParam(c))
    const headers = {'content-type': 'application/octet-stream', 'content-disposition': 'attachment'}
    return c.body(new Uint8Array(bytes), 200, headers)
  })
}

function blobParam(c: Ctx) {
  return parse(blobIdSchema, c.req.param('blob'), 'blob')
}
