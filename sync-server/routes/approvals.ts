import * as z from 'zod'
import {
  type ApprovalRecord,
  decisionSchema,
  type InboxItem,
  inboxItemSchema,
  standingOf,
} from '../../runtime/protocol/approval.ts'
import {approvalIdSchema, operationIdSchema} from '../../runtime/protocol/ids.ts'
import {signedIntentSchema} from '../../runtime/protocol/intent.ts'
import {inboxSchema, settledSchema, settlementSchema} from '../../runtime/protocol/wire.ts'
import {decideApproval} from '../authority/approvals.ts'
import type {DueWorker} from '../authority/due-worker.ts'
import {heldRoles, roleNames} from '../authority/held-roles.ts'
import type {OperationContext} from '../authority/operation-context.ts'
import {redeemIntent} from '../authority/redeem-intent.ts'
import {settleOperation} from '../authority/settle-operation.ts'
import type {Principal} from '../principal.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

/** Maximum number of approvals listed. Decided approvals are kept forever; the inbox shows the latest. */
const listed = 500

const readInbox = route({
  name: 'readInbox',
  method: 'GET',
  path: '/v1/approvals',
  summary: 'What holders of the roles of the caller may decide, latest first, and what they may settle.',
  query: {status: z.enum(['open', 'all'], 'expected "open" or "all"').default('open')},
  answers: {200: inboxSchema},
})

const decideOne = route({
  name: 'decideApproval',
  method: 'POST',
  path: '/v1/approvals/:approval/decision',
  summary: 'Approves or rejects one operation, by the digest that was on the screen.',
  params: {approval: approvalIdSchema},
  body: decisionSchema,
  answers: {200: inboxItemSchema},
  errors: ['not_found', 'forbidden', 'conflict', 'refused'],
})

const redeemOne = route({
  name: 'redeemIntent',
  method: 'POST',
  path: '/v1/approvals/:approval/redemption',
  summary: 'Redeems a decision that was signed while the server was out of reach, once.',
  params: {approval: approvalIdSchema},
  body: signedIntentSchema,
  answers: {200: inboxItemSchema},
  errors: ['not_found', 'forbidden', 'conflict', 'refused', 'deadline'],
})

const settleOne = route({
  name: 'settleOperation',
  method: 'POST',
  path: '/v1/operations/:operation/verdict',
  summary: 'Takes the word of a person for what became of an operation that is uncertain.',
  params: {operation: operationIdSchema},
  body: settlementSchema,
  answers: {200: settledSchema},
  errors: ['not_found', 'conflict', 'refused'],
})

export function approvalRoutes(app: App, context: OperationContext, worker: DueWorker): void {
  const {store} = context

  handle(app, readInbox, async ({query: {status}, principal}) => {
    const roles = roleNames(await heldRoles(context, principal))
    const approvals = await store.approvals.inbox(principal.tenant, roles, status, listed)
    const uncertain = await store.ledger.uncertain(principal.tenant, roles, listed)
    return {approvals: approvals.map(item => shownTo(principal, item)), uncertain}
  })

  handle(app, decideOne, async ({params: {approval}, body, principal}) =>
    answer(principal, await decideApproval(context, principal, approval, body)),
  )

  handle(app, redeemOne, async ({params: {approval}, body, principal}) =>
    answer(principal, await redeemIntent(context, principal, approval, body)),
  )

  handle(app, settleOne, ({params: {operation}, body, principal}) =>
    settleOperation(context, principal, operation, body),
  )

  function answer(principal: Principal, item: ApprovalRecord): InboxItem {
    const {tenant} = principal
    if (item.status === 'granted') worker.nudge({tenant, name: 'operation', key: item.operation})
    return shownTo(principal, item)
  }
}

function shownTo({subject}: Principal, item: ApprovalRecord): InboxItem {
  return {...item, you: standingOf(item, subject)}
}
