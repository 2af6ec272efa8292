import {stream} from 'hono/streaming'
import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from '../../runtime/protocol/ids.ts'
import {jsonSchema} from '../../runtime/protocol/json.ts'
import type {Eraser} from '../authority/erase.ts'
import {exportSubject, exportVersion} from '../authority/export-subject.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

const lineSchema = z.union([
  z.strictObject({
    holdfast: z.literal('export'),
    version: z.literal(exportVersion),
    tenant: tenantIdSchema,
    subject: subjectIdSchema,
    at: z.number(),
  }),
  z.strictObject({layer: z.string(), record: jsonSchema}),
  z.strictObject({end: z.literal(true), records: z.record(z.string(), z.int().nonnegative())}),
])

const exportAll = route({
  name: 'exportSubject',
  method: 'GET',
  path: '/v1/subjects/:subject/export',
  summary: 'Everything that is kept of a subject, one record a line; `me` is whoever asks.',
  params: {subject: subjectIdSchema},
  answers: {
    200: {
      mediaType: 'application/x-ndjson',
      description: 'A head, the records under the names of their layers, and a last line that counts them.',
      data: lineSchema,
    },
  },
  errors: ['forbidden'],
})

export function subjectRoutes(app: App, eraser: Eraser): void {
  handle(app, exportAll, async ({params, principal}, c) => {
    const subject = params.subject === 'me' ? principal.subject : params.subject
    const lines = await exportSubject(eraser, principal, subject)
    c.header('content-type', 'application/x-ndjson')
    c.header('content-disposition', 'attachment; filename="export.jsonl"')
    return stream(c, async out => {
      try {
        for await (const line of lines) {
          if (out.aborted) return
          await out.write(line)
        }
      } catch (error) {
        // The stream then ends without its last line, which tells the reader that the file is incomplete.
        eraser.onFault(error)
      }
    })
  })
}
