import * as z from 'zod'
import {decisionSchema} from '../protocol/approval.ts'
import {newDelegationSchema} from '../protocol/delegation.ts'
import {parse} from '../protocol/errors.ts'
import {approvalIdSchema, approverKeyIdSchema, delegationIdSchema, operationIdSchema} from '../protocol/ids.ts'
import {newKeySchema} from '../protocol/intent.ts'
import {settlementSchema} from '../protocol/wire.ts'
import {listenerOf} from './listener-argument.ts'
import type {Inbox} from './open-inbox.ts'

/** Deletes the person's data if `wipe` is true, so no other value may count as true. */
const signOutOptions = z.strictObject({wipe: z.boolean().optional()}).default({})
const nonce = z.string().min(1)

/**
 * An inbox that checks its arguments before anything is signed, stored, sent or deleted. A decision made offline is
 * sent later, when the caller can no longer be told.
 */
export function checkedInbox(inbox: Inbox): Inbox {
  return {
    ...inbox,
    subscribe: listener => inbox.subscribe(listenerOf(listener, 'inbox.subscribe')),
    decide: async (approval, decision) =>
      inbox.decide(
        parse(approvalIdSchema, approval, 'inbox.decide.approval'),
        parse(decisionSchema, decision, 'inbox.decide.decision') as typeof decision,
      ),
    dismiss: async decision => inbox.dismiss(parse(nonce, decision, 'inbox.dismiss.nonce')),
    settle: async (operation, said) =>
      inbox.settle(
        parse(operationIdSchema, operation, 'inbox.settle.operation'),
        parse(settlementSchema, said, 'inbox.settle.said'),
      ),
    delegate: async wish => inbox.delegate(parse(newDelegationSchema, wish, 'inbox.delegate') as typeof wish),
    revokeDelegation: async id =>
      inbox.revokeDelegation(parse(delegationIdSchema, id, 'inbox.revokeDelegation.delegation')),
    addDevice: async label => inbox.addDevice(parse(newKeySchema.shape.label, label, 'inbox.addDevice.label')),
    revokeDevice: async key => inbox.revokeDevice(parse(approverKeyIdSchema, key, 'inbox.revokeDevice.key')),
    signOut: async options => inbox.signOut(parse(signOutOptions, options, 'inbox.signOut') as typeof options),
  }
}
