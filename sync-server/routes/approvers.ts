import {type Delegation, newDelegationSchema} from '../../runtime/protocol/delegation.ts'
import {parse} from '../../runtime/protocol/errors.ts'
import {approverKeyIdSchema, delegationIdSchema} from '../../runtime/protocol/ids.ts'
import {type ApproverKey, newKeySchema} from '../../runtime/protocol/intent.ts'
import {listKeys, registerKey, revokeKey} from '../authority/approver-keys.ts'
import type {Authority} from '../authority/authority.ts'
import {delegateRole, revokeDelegation} from '../authority/delegations.ts'
import {type App, readBody} from './http.ts'

const listed = 500

/** What makes somebody an approver beyond their token: roles lent to them, and the keys of their devices. */
export function approverRoutes(app: App, authority: Authority): void {
  app.get('/v1/delegations', async c => {
    const delegations = await authority.store.delegations.list(c.get('principal'), listed)
    return c.json({delegations} satisfies {delegations: Delegation[]})
  })

  app.post('/v1/delegations', async c => {
    const wish = await readBody(c, newDelegationSchema)
    return c.json((await delegateRole(authority, c.get('principal'), wish)) satisfies Delegation)
  })

  app.post('/v1/delegations/:id/revocation', async c => {
    const id = parse(delegationIdSchema, c.req.param('id'), 'delegation')
    return c.json((await revokeDelegation(authority, c.get('principal'), id)) satisfies Delegation)
  })

  app.get('/v1/approver-keys', async c => {
    return c.json({keys: await listKeys(authority, c.get('principal'))} satisfies {keys: ApproverKey[]})
  })

  app.post('/v1/approver-keys', async c => {
    const wish = await readBody(c, newKeySchema)
    return c.json((await registerKey(authority, c.get('principal'), wish)) satisfies ApproverKey)
  })

  app.post('/v1/approver-keys/:id/revocation', async c => {
    const id = parse(approverKeyIdSchema, c.req.param('id'), 'key')
    return c.json((await revokeKey(authority, c.get('principal'), id)) satisfies ApproverKey)
  })
}
