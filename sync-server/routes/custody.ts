import {refusalError} from '../../runtime/protocol/refusal.ts'
import {claimSchema, custodyAnswerSchema} from '../../runtime/protocol/wire.ts'
import type {Authority} from '../authority/authority.ts'
import {claimCustody} from '../authority/custody.ts'
import {type App, readBody, sessionParam} from './http.ts'

export function custodyRoutes(app: App, authority: Authority): void {
  app.post('/v1/sessions/:id/custody', async c => {
    const session = sessionParam(c)
    const claim = await readBody(c, claimSchema)
    const answer = await claimCustody(authority, c.get('principal'), session, claim)
    if (answer.refusal) throw refusalError(answer.refusal)
    return c.json(custodyAnswerSchema.parse({...answer.custody, head: answer.head}))
  })
}
