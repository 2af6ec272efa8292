import {type Decision, type InboxItem, inboxItemSchema} from '../protocol/approval.ts'
import {type Delegation, delegationSchema, type NewDelegation} from '../protocol/delegation.ts'
import type {ApprovalId, ApproverKeyId, DelegationId, OperationId} from '../protocol/ids.ts'
import {
  type ApproverKey,
  approverKeyListSchema,
  approverKeySchema,
  type NewKey,
  type SignedIntent,
} from '../protocol/intent.ts'
import {
  delegationListSchema,
  type Inbox,
  inboxSchema,
  type Settled,
  type Settlement,
  settledSchema,
} from '../protocol/wire.ts'
import type {CuttableLink} from './http-link.ts'

/** The server as an approver sees it; every call ends as those of `ServerLink` do. */
export interface ApproverLink {
  inbox(): Promise<Inbox>
  decide(approval: ApprovalId, decision: Decision): Promise<InboxItem>
  /** Hands in a decision that was signed offline. [APP-4] */
  redeem(signed: SignedIntent): Promise<InboxItem>
  /** The keys of this approver's devices, latest first, revoked ones too. */
  keys(): Promise<ApproverKey[]>
  registerKey(key: NewKey): Promise<ApproverKey>
  revokeKey(key: ApproverKeyId): Promise<ApproverKey>
  /** Says what became of an operation that nobody else can tell about. [OP-4] */
  settle(operation: OperationId, said: Settlement): Promise<Settled>
  delegations(): Promise<Delegation[]>
  delegate(wish: NewDelegation): Promise<Delegation>
  revokeDelegation(delegation: DelegationId): Promise<Delegation>
}

export function approverLink({request}: Pick<CuttableLink, 'request'>): ApproverLink {
  return {
    inbox: () => request(inboxSchema, 'GET', '/v1/approvals?status=all'),
    decide: (approval, decision) => request(inboxItemSchema, 'POST', `/v1/approvals/${approval}/decision`, decision),
    redeem: signed => request(inboxItemSchema, 'POST', `/v1/approvals/${signed.intent.approval}/redemption`, signed),
    keys: async () => (await request(approverKeyListSchema, 'GET', '/v1/approver-keys')).keys,
    registerKey: key => request(approverKeySchema, 'POST', '/v1/approver-keys', key),
    revokeKey: key => request(approverKeySchema, 'POST', `/v1/approver-keys/${key}/revocation`, {}),
    settle: (operation, said) => request(settledSchema, 'POST', `/v1/operations/${operation}/verdict`, said),
    delegations: async () => (await request(delegationListSchema, 'GET', '/v1/delegations')).delegations,
    delegate: wish => request(delegationSchema, 'POST', '/v1/delegations', wish),
    revokeDelegation: id => request(delegationSchema, 'POST', `/v1/delegations/${id}/revocation`, {}),
  }
}
