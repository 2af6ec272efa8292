import type * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type runCommandAnswerSchema, runCommandSchema, wakeSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import {appendPersonEvent} from '../authority/person-event.ts'
import {wakeRun} from '../authority/wake-run.ts'
import {type App, type Ctx, readBody, runParam} from './http.ts'

/**
 * Cancel and retry for whoever has no device, like an operator's script: a person's event in the caller's own name, so
 * that every device and every record shows who said it. A retry is then performed by the holder of custody. [RUN-5, RUN-7]
 * A wake is the outside world's: what a run sleeps for has come.
 */
export function runRoutes(app: App, authority: Authority): void {
  app.post('/v1/runs/:id/cancel', c => command(c, authority, 'run.cancelled'))
  app.post('/v1/runs/:id/retry', c => command(c, authority, 'run.retried'))
  app.post('/v1/runs/:id/wake', async c => {
    const run = runParam(c)
    return c.json(await wakeRun(authority, c.get('principal'), run, await readBody(c, wakeSchema)))
  })
}

async function command(c: Ctx, authority: Authority, kind: 'run.cancelled' | 'run.retried'): Promise<Response> {
  const run = runParam(c)
  const {event: id, reason} = await readBody(c, runCommandSchema)
  const principal = c.get('principal')
  const session = await authority.store.sessions.sessionOfRun(principal, run)
  if (!session) throw new HoldfastError('not_found', 'No such run.')
  const said = {id, session, run}
  const seq = await appendPersonEvent(
    authority,
    principal,
    kind === 'run.cancelled' ? {...said, kind, data: reason === undefined ? {} : {reason}} : {...said, kind, data: {}},
  )
  return c.json({session, seq} satisfies z.infer<typeof runCommandAnswerSchema>)
}
