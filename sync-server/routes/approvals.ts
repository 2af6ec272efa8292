import * as z from 'zod'
import {type ApprovalRecord, decisionSchema, type InboxItem, standingOf} from '../../runtime/protocol/approval.ts'
import {parse} from '../../runtime/protocol/errors.ts'
import {approvalIdSchema, operationIdSchema} from '../../runtime/protocol/ids.ts'
import {signedIntentSchema} from '../../runtime/protocol/intent.ts'
import {type Inbox, type Settled, settlementSchema} from '../../runtime/protocol/wire.ts'
import {decideApproval} from '../authority/approvals.ts'
import type {DueWorker} from '../authority/due-worker.ts'
import {heldRoles, roleNames} from '../authority/held-roles.ts'
import type {OperationContext} from '../authority/operation-context.ts'
import {redeemIntent} from '../authority/redeem-intent.ts'
import {settleOperation} from '../authority/settle-operation.ts'
import type {Principal} from '../principal.ts'
import {type App, readBody} from './http.ts'

const statusSchema = z.enum(['open', 'all'], 'expected "open" or "all"')

/** Decided ones are kept for ever; the inbox shows the latest. */
const listed = 500

export function approvalRoutes(app: App, context: OperationContext, worker: DueWorker): void {
  const {store} = context

  app.get('/v1/approvals', async c => {
    const principal = c.get('principal')
    const status = parse(statusSchema, c.req.query('status') ?? 'open', 'status')
    const roles = roleNames(await heldRoles(context, principal))
    const approvals = await store.approvals.inbox(principal.tenant, roles, status, listed)
    const uncertain = await store.ledger.uncertain(principal.tenant, roles, listed)
    return c.json({approvals: approvals.map(item => shownTo(principal, item)), uncertain} satisfies Inbox)
  })

  app.post('/v1/approvals/:id/decision', async c => {
    const approval = parse(approvalIdSchema, c.req.param('id'), 'approval')
    const decision = await readBody(c, decisionSchema)
    const principal = c.get('principal')
    return c.json(answer(principal, await decideApproval(context, principal, approval, decision)))
  })

  app.post('/v1/approvals/:id/redemption', async c => {
    const approval = parse(approvalIdSchema, c.req.param('id'), 'approval')
    const signed = await readBody(c, signedIntentSchema)
    const principal = c.get('principal')
    return c.json(answer(principal, await redeemIntent(context, principal, approval, signed)))
  })

  app.post('/v1/operations/:id/verdict', async c => {
    const operation = parse(operationIdSchema, c.req.param('id'), 'operation')
    const said = await readBody(c, settlementSchema)
    return c.json((await settleOperation(context, c.get('principal'), operation, said)) satisfies Settled)
  })

  function answer(principal: Principal, item: ApprovalRecord): InboxItem {
    const {tenant} = principal
    if (item.status === 'granted') worker.nudge({tenant, name: 'operation', key: item.operation})
    return shownTo(principal, item)
  }
}

function shownTo({subject}: Principal, item: ApprovalRecord): InboxItem {
  return {...item, you: standingOf(item, subject)}
}
