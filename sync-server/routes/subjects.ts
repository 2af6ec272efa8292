import {stream} from 'hono/streaming'
import {parse} from '../../runtime/protocol/errors.ts'
import type {SubjectId} from '../../runtime/protocol/ids.ts'
import type {Eraser} from '../authority/erase.ts'
import {exportSubject} from '../authority/export-subject.ts'
import {principalSchema} from '../principal.ts'
import type {App, Ctx} from './http.ts'

export function subjectRoutes(app: App, eraser: Eraser): void {
  app.get('/v1/subjects/:subject/export', async c => {
    const lines = await exportSubject(eraser, c.get('principal'), subjectParam(c))
    c.header('content-type', 'application/x-ndjson')
    c.header('content-disposition', 'attachment; filename="export.jsonl"')
    return stream(c, async out => {
      try {
        for await (const line of lines) {
          if (out.aborted) return
          await out.write(line)
        }
      } catch (error) {
        // The file has no last line then, by which its reader knows.
        eraser.onFault(error)
      }
    })
  })
}

/** `me` is whoever asks. */
export function subjectParam(c: Ctx): SubjectId {
  const named = c.req.param('subject')
  return named === 'me' ? c.get('principal').subject : parse(principalSchema.shape.subject, named, 'subject')
}
