import * as z from 'zod'
import {decisionSchema} from '../../runtime/protocol/approval.ts'
import {parse} from '../../runtime/protocol/errors.ts'
import {approvalIdSchema} from '../../runtime/protocol/ids.ts'
import type {Inbox} from '../../runtime/protocol/wire.ts'
import {decideApproval} from '../authority/approvals.ts'
import type {Authority} from '../authority/authority.ts'
import type {OperationDriver} from '../authority/operations.ts'
import {type App, readBody} from './http.ts'

const statusSchema = z.enum(['open', 'all'], 'expected "open" or "all"')

/** Decided ones are kept for ever; the inbox shows the latest. */
const listedApprovals = 500

export function approvalRoutes(app: App, authority: Authority, driver: OperationDriver): void {
  app.get('/v1/approvals', async c => {
    const {tenant, roles} = c.get('principal')
    const status = parse(statusSchema, c.req.query('status') ?? 'open', 'status')
    const approvals = await authority.store.approvals.inbox(tenant, roles, status, listedApprovals)
    return c.json({approvals} satisfies Inbox)
  })

  app.post('/v1/approvals/:id/decision', async c => {
    const approval = parse(approvalIdSchema, c.req.param('id'), 'approval')
    const decision = await readBody(c, decisionSchema)
    const principal = c.get('principal')
    const item = await decideApproval(authority, principal, approval, decision)
    if (item.status === 'granted') driver.drive({tenant: principal.tenant, operation: item.operation})
    return c.json(item)
  })
}
