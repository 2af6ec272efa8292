import {sessionIdSchema} from '../../runtime/protocol/ids.ts'
import {refusalError} from '../../runtime/protocol/refusal.ts'
import {claimSchema, custodyAnswerSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import {claimCustody} from '../authority/custody.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

const claim = route({
  name: 'claimCustody',
  method: 'POST',
  path: '/v1/sessions/:session/custody',
  summary: 'Claims the right to advance the runs of a session, or hands it over: compare and set of the epoch.',
  params: {session: sessionIdSchema},
  body: claimSchema,
  answers: {200: custodyAnswerSchema},
  errors: ['not_found', 'erased', 'stale_epoch', 'refused'],
})

export function custodyRoutes(app: App, authority: Authority): void {
  handle(app, claim, async ({params: {session}, body, principal}) => {
    const answer = await claimCustody(authority, principal, session, body)
    if (answer.refusal) throw refusalError(answer.refusal)
    return custodyAnswerSchema.parse({...answer.custody, head: answer.head})
  })
}
