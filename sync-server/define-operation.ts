import type {OperationId, SessionId, SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import type {Basis, ToolContract} from '../runtime/protocol/tool.ts'
import {checkOperation} from './check-operations.ts'
import type {BoundFacts, FactValue} from './facts.ts'

export type Authorisation = {allow: string} | {approval: ApprovalRequest} | {deny: string}

/** Who decides, and until when. */
export type ApprovalRequest = {
  role: string
  reason: string
  /** Milliseconds until it expires undecided. */
  expiresInMs: number
  /** How many different people have to approve, 1 to 5. Default: 1. */
  approvers?: number
  /** Whether the requester may be one of them, if they hold the role. Default: only if one approver is enough. */
  requesterMayDecide?: boolean
  /** Holders of this role may decide as well when nobody has after so many milliseconds. */
  escalate?: {role: string; afterMs: number}
}

/**
 * A bound on what a tool may do in a tenant or, with `per: 'subject'`, for each of its subjects. It is checked in the
 * transaction that records the start, so that no two processes both take the last place. Over `concurrency` an
 * operation waits for a free place; over any other it is refused with `over_limit`, which model and person are told.
 */
export type OperationLimit =
  | {kind: 'rate'; starts: number; inMs: number; per?: 'tenant' | 'subject'}
  | {kind: 'amount'; sum: number; inMs: number; per?: 'tenant' | 'subject'}
  | {kind: 'single'; amount: number}
  | {kind: 'concurrency'; atOnce: number; per?: 'tenant' | 'subject'}

/** A fact of the basis that is no longer as it was when the operation was proposed. */
export type ChangedFact = {key: string; was: string; now: FactValue | null}

export type Reconciliation = {executed: Json} | {notExecuted: string} | {unknown: string}

export type OperationRequest<Input> = {
  /** The idempotency key: hand it to the outside system. */
  operation: OperationId
  input: Input
  tenant: TenantId
  /** Whose session proposed it. */
  subject: SubjectId
  /** The session that proposed it: an application that keeps words of it needs this to erase them. */
  session: SessionId
}

/**
 * One external effect as the application implements it. The server calls `execute` at most once per operation; what
 * it throws decides what is recorded: `OperationFailed` means that nothing happened, anything else that nobody knows.
 */
export interface OperationDefinition<Input = unknown> {
  tool: ToolContract<Input>
  /** Milliseconds that each of these functions may take. Default: 30,000. */
  deadlineMs?: number
  authorise(request: OperationRequest<Input> & {facts: BoundFacts}): Promise<Authorisation> | Authorisation
  /** Asked immediately before execution, with every fact of the basis that has moved since. [OP-5] */
  recheck(
    request: OperationRequest<Input> & {basis: Basis; changed: ChangedFact[]; facts: BoundFacts},
  ): Promise<{ok: true} | {stale: string}> | {ok: true} | {stale: string}
  /** Returns the receipt. `signal` aborts at the deadline. */
  execute(request: OperationRequest<Input> & {signal: AbortSignal}): Promise<Json>
  /**
   * Finds out, by the operation id, whether the effect took place. `notExecuted` is final, so say it only when the
   * effect cannot take place any more either; else `unknown`, and the server asks again later. [OP-4]
   */
  reconcile?(request: OperationRequest<Input>): Promise<Reconciliation>
  /** Holders of this role may say what happened while it is uncertain; needed where there is no `reconcile`. */
  verdictRole?: string
  limits?: readonly OperationLimit[]
  /** What one operation counts towards the limits `amount` and `single`: zero or more, in a unit of your own. */
  amount?(input: Input): number
  /** Formats an amount for model and person, like "€12.00". Default: the number. */
  amountWords?(amount: number): string
}

/** What `operations` takes: every external tool under its own name. */
export type Operations = Record<string, OperationDefinition>

/**
 * Types an operation by its tool's input.
 *
 * @throws HoldfastError `misconfigured` naming every wrong field
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

/** Thrown by `execute` when the effect definitely did not take place; the message is recorded and shown. */
export class OperationFailed extends Error {
  override readonly name = 'OperationFailed'
}
