import type {OperationId, SessionId, SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import type {Basis, ToolContract} from '../runtime/protocol/tool.ts'
import {checkOperation} from './check-operations.ts'
import type {BoundFacts, FactValue} from './facts.ts'

export type Authorisation = {allow: string} | {approval: ApprovalRequest} | {deny: string}

/** Who may approve an operation, and until when. */
export type ApprovalRequest = {
  role: string
  reason: string
  /** Milliseconds until the undecided request expires. */
  expiresInMs: number
  /** Number of different people who must approve, 1 to 5. Default: 1. */
  approvers?: number
  /**
   * Whether the requester may be one of the approvers, if they hold the role. Default: only if one approver is
   * enough.
   */
  requesterMayDecide?: boolean
  /** After `afterMs` milliseconds without a decision, holders of this role may decide as well. */
  escalate?: {role: string; afterMs: number}
}

/**
 * A limit on a tool per tenant or, with `per: 'subject'`, per subject. It is checked in the transaction that records
 * the start, so concurrent processes cannot exceed it. Over `concurrency`, an operation waits for a free slot. Over
 * any other limit it is refused with `over_limit`, which the model and the person see.
 */
export type OperationLimit =
  | {kind: 'rate'; starts: number; inMs: number; per?: 'tenant' | 'subject'}
  | {kind: 'amount'; sum: number; inMs: number; per?: 'tenant' | 'subject'}
  | {kind: 'single'; amount: number}
  | {kind: 'concurrency'; atOnce: number; per?: 'tenant' | 'subject'}

/** A fact of the basis that has changed since the operation was proposed. */
export type ChangedFact = {key: string; was: string; now: FactValue | null}

export type Reconciliation = {executed: Json} | {notExecuted: string} | {unknown: string}

export type OperationRequest<Input> = {
  /** The idempotency key. Pass it to the external system. */
  operation: OperationId
  input: Input
  tenant: TenantId
  /** The subject whose session proposed the operation. */
  subject: SubjectId
  /** The session that proposed the operation. An application that stores text of the session needs it for erasure. */
  session: SessionId
}

/**
 * Defines how the application performs one external effect. The server calls `execute` at most once per operation. If
 * it throws `OperationFailed`, the operation is recorded as not executed; after any other error its outcome is
 * unknown.
 */
export interface OperationDefinition<Input = unknown> {
  tool: ToolContract<Input>
  /** Deadline of each of these functions, in milliseconds. Default: 30,000. */
  deadlineMs?: number
  authorise(request: OperationRequest<Input> & {facts: BoundFacts}): Promise<Authorisation> | Authorisation
  /** Called immediately before execution, with every fact of the basis that has changed since the proposal. [OP-5] */
  recheck(
    request: OperationRequest<Input> & {basis: Basis; changed: ChangedFact[]; facts: BoundFacts},
  ): Promise<{ok: true} | {stale: string}> | {ok: true} | {stale: string}
  /** Performs the effect and returns its receipt. `signal` aborts at the deadline. */
  execute(request: OperationRequest<Input> & {signal: AbortSignal}): Promise<Json>
  /**
   * Determines, by the operation id, whether the effect took place. `notExecuted` is final: return it only if the
   * effect can no longer take place. Otherwise return `unknown`, and the server calls again later. [OP-4]
   */
  reconcile?(request: OperationRequest<Input>): Promise<Reconciliation>
  /** Holders of this role may record the outcome of an uncertain operation. Required without `reconcile`. */
  verdictRole?: string
  limits?: readonly OperationLimit[]
  /**
   * Returns what one operation counts towards the limits `amount` and `single`: zero or more, in a unit of your
   * choice.
   */
  amount?(input: Input): number
  /** Formats an amount for the model and people, for example "€12.00". Default: the number. */
  amountWords?(amount: number): string
}

/** External tools by name, as the option `operations` takes them. */
export type Operations = Record<string, OperationDefinition>

/**
 * Defines an operation, typed by the input of its tool.
 *
 * @throws HoldfastError `misconfigured` naming every invalid field
 * @example
 * const operations = {
 *   refundOrder: defineOperation({
 *     tool: refundOrder,
 *     authorise: ({input}) => (input.cents > 5000 ? {approval: {role: 'lead', reason: 'Large refund', expiresInMs: 3_600_000}} : {allow: 'Small refund'}),
 *     recheck: ({changed}) => (changed.length > 0 ? {stale: 'The order has changed.'} : {ok: true}),
 *     execute: ({operation, input}) => bank.refund(operation, input.orderId, input.cents),
 *     reconcile: async ({operation}) => {
 *       const receipt = await bank.find(operation)
 *       return receipt ? {executed: receipt} : {notExecuted: 'The bank has no such refund.'}
 *     },
 *   }),
 * }
 */
export function defineOperation<Input>(definition: OperationDefinition<Input>): OperationDefinition {
  checkOperation(definition)
  return definition as OperationDefinition<unknown>
}

/** Thrown by `execute` if the effect definitely did not take place. Its message is recorded and shown. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
}
