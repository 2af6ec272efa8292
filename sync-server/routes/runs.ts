import * as z from 'zod'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {runIdSchema} from '../../runtime/protocol/ids.ts'
import {runCommandAnswerSchema, runCommandSchema, wakeSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import {appendPersonEvent} from '../authority/person-event.ts'
import {wakeRun} from '../authority/wake-run.ts'
import type {App} from './http.ts'
import {type Asked, handle, route} from './route.ts'

const cancel = route({
  name: 'cancelRun',
  method: 'POST',
  path: '/v1/runs/:run/cancel',
  summary: 'Ends a run in the name of the caller; what has been executed stands.',
  params: {run: runIdSchema},
  body: runCommandSchema,
  answers: {200: runCommandAnswerSchema},
  errors: ['not_found', 'refused', 'conflict'],
})

const retry = route({
  name: 'retryRun',
  method: 'POST',
  path: '/v1/runs/:run/retry',
  summary: 'Asks for another attempt of a run that failed in a way that may pass.',
  params: {run: runIdSchema},
  body: runCommandSchema,
  answers: {200: runCommandAnswerSchema},
  errors: ['not_found', 'refused', 'conflict'],
})

const wake = route({
  name: 'wakeRun',
  method: 'POST',
  path: '/v1/runs/:run/wake',
  summary: 'Wakes a run that sleeps, because what it waits for has come.',
  params: {run: runIdSchema},
  body: wakeSchema,
  answers: {200: z.strictObject({head: z.int().nonnegative()})},
  errors: ['not_found', 'refused'],
})

/**
 * Registers cancel, retry and wake for callers without a device, such as an operator's script. Cancel and retry
 * append an event in the caller's own name, so that every record shows who requested it. The holder of custody
 * performs a retry. [RUN-5, RUN-7] A wake reports that the external event a run sleeps for has occurred.
 */
export function runRoutes(app: App, authority: Authority): void {
  handle(app, cancel, asked => command(authority, asked, 'run.cancelled'))
  handle(app, retry, asked => command(authority, asked, 'run.retried'))
  handle(app, wake, ({params: {run}, body, principal}) => wakeRun(authority, principal, run, body))
}

async function command(
  authority: Authority,
  {params: {run}, body: {event: id, reason}, principal}: Asked<typeof cancel | typeof retry>,
  kind: 'run.cancelled' | 'run.retried',
) {
  const session = await authority.store.sessions.sessionOfRun(principal, run)
  if (!session) throw new HoldfastError('not_found', 'No such run.')
  const said = {id, session, run}
  const seq = await appendPersonEvent(
    authority,
    principal,
    kind === 'run.cancelled' ? {...said, kind, data: reason === undefined ? {} : {reason}} : {...said, kind, data: {}},
  )
  return {session, seq}
}
