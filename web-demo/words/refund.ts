import {euros} from '../money.ts'
import {personName} from '../people.ts'
import type {ToolEntry} from '../runtime-types.ts'
import {receiptSchema} from '../shop/order.ts'
import {exactText} from './exact.ts'

/** `over` is what will not happen any more. */
export type Tone = 'quiet' | 'waiting' | 'done' | 'bad' | 'over'
export type Telling = {state: string; detail: string; tone: Tone}

/** What became of one proposed refund, from its card alone. */
export function tellRefund(entry: ToolEntry): Telling {
  const {operation, durability, result} = entry
  if (!operation) return result ? unproposed(result) : {state: 'Being prepared', detail: '', tone: 'quiet'}
  const reason = operation.reason ?? ''
  switch (operation.status) {
    case 'proposed':
      return durability.status === 'server'
        ? {state: 'With the server', detail: 'It is being checked against the order and the policy.', tone: 'quiet'}
        : {state: 'Only on this device', detail: 'It goes to the server when there is a connection.', tone: 'waiting'}
    case 'awaiting_approval':
      return {state: 'Waiting for approval', detail: waitingDetail(reason, operation.approval), tone: 'waiting'}
    case 'authorised':
      return operation.decidedBy
        ? {state: `Approved by ${personName(operation.decidedBy)}`, detail: reason, tone: 'quiet'}
        : {state: 'Allowed by policy', detail: reason, tone: 'quiet'}
    case 'started':
      return {state: 'Being paid out', detail: '', tone: 'quiet'}
    case 'executed':
      return {state: 'Refunded', detail: receiptWords(operation), tone: 'done'}
    case 'rejected':
      return {
        state: operation.decidedBy ? `Rejected by ${personName(operation.decidedBy)}` : 'Rejected',
        detail: `${reason ? `“${reason}” ` : ''}No money moved.`,
        tone: 'bad',
      }
    case 'refused':
      return {state: 'Refused by the server', detail: `${reason} No money moved.`.trim(), tone: 'bad'}
    case 'failed':
      return {state: 'Failed', detail: saidBy(operation, reason), tone: 'bad'}
    case 'expired':
      return {state: 'Expired', detail: `${reason} No money moved.`.trim(), tone: 'bad'}
    case 'voided':
      return {state: 'Withdrawn', detail: `${reason} No money moved.`.trim(), tone: 'quiet'}
    case 'uncertain':
      return {
        state: 'Outcome not known',
        detail: `${reason} An approver can say what happened. Do not pay it again before that.`.trim(),
        tone: 'waiting',
      }
  }
}

function unproposed(result: NonNullable<ToolEntry['result']>): Telling {
  return result.outcome === 'error'
    ? {state: 'Not proposed', detail: 'The request was not valid, so nothing was sent.', tone: 'bad'}
    : {state: 'Withdrawn', detail: 'It was never sent. No money moved.', tone: 'over'}
}

type Operation = NonNullable<ToolEntry['operation']>

/** Who has said yes, who is still missing, and who is asked by now. */
export function waitingDetail(reason: string, approval: Operation['approval']): string {
  if (!approval) return reason
  const {approvers, endorsedBy, escalatedTo} = approval
  const parts = [reason]
  if (endorsedBy.length > 0) {
    const missing = approvers - endorsedBy.length
    parts.push(`${list(endorsedBy.map(personName))} said yes; ${missing} more ${missing === 1 ? 'is' : 'are'} needed.`)
  }
  if (escalatedTo) parts.push('Nobody decided for a while, so the head of service is asked as well.')
  return parts.join(' ').trim()
}

export function list(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

function saidBy({settledBy}: Operation, reason: string): string {
  return settledBy ? `${personName(settledBy)} says that it did not happen: “${reason}”` : reason
}

function receiptWords({receipt, decidedBy, settledBy}: Operation): string {
  if (settledBy && receipt !== null && typeof receipt === 'object' && !Array.isArray(receipt)) {
    return `${personName(settledBy)} says that it happened: “${String(receipt.receipt)}”`
  }
  const parsed = receiptSchema.safeParse(receipt)
  const by = decidedBy ? `Approved by ${personName(decidedBy)}. ` : ''
  return parsed.success ? `${by}Receipt ${parsed.data.refund}` : by.trim()
}

/** As a person reads it before they decide: nothing in it is hidden. */
export function refundInput(entry: Pick<ToolEntry, 'input'>): {orderId: string; amount: string; reason: string} {
  const input =
    entry.input !== null && typeof entry.input === 'object' && !Array.isArray(entry.input) ? entry.input : {}
  return {
    orderId: typeof input.orderId === 'string' ? exactText(input.orderId) : '?',
    amount: typeof input.cents === 'number' ? euros(input.cents) : '?',
    reason: typeof input.reason === 'string' ? exactText(input.reason) : '',
  }
}

/** "the refund of €20.00 for A17 and €30.00 for B22" */
export function refundsWords(operations: readonly Pick<ToolEntry, 'input'>[]): string {
  const refunds = operations.map(refundInput).map(({amount, orderId}) => `${amount} for ${orderId}`)
  return `the refund of ${list(refunds)}`
}
