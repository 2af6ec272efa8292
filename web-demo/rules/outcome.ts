import {euros} from '../money.ts'
import {receiptSchema} from '../shop/order.ts'
import {type Call, record} from './conversation.ts'

export type OutcomeKind =
  | 'executed'
  | 'attested'
  | 'rejected'
  | 'voided'
  | 'cancelled'
  | 'expired'
  | 'stale'
  | 'refused'
  | 'uncertain'
  | 'offline'
  | 'failed'
  | 'unknown'

/** How a proposed refund ended, read from its result alone; the first sign that fits decides. */
export function outcomeOf(call: Call): OutcomeKind {
  const {result} = call
  if (!result) return 'unknown'
  if (receiptSchema.safeParse(result.value).success) return 'executed'
  const value = details(call)
  if (typeof value.saidBy === 'string') return 'attested'
  if (typeof value.by === 'string') return 'rejected'
  const words = `${String(value.code ?? '')} ${String(value.status ?? '')} ${reasonIn(call) ?? ''}`.toLowerCase()
  const sign = signs.find(([pattern]) => pattern.test(words))
  if (sign) return sign[1]
  return result.outcome === 'ok' ? 'unknown' : result.outcome === 'denied' ? 'refused' : 'failed'
}

/** "Not known" comes before "cancelled": a run that was cancelled while money moved may have moved it. */
const signs: [RegExp, OutcomeKind][] = [
  [/\bstale\b|changed since/, 'stale'],
  [/\buncertain\b|not known/, 'uncertain'],
  [/\brejected\b/, 'rejected'],
  [/\bcancell?ed\b|run was ended/, 'cancelled'],
  [/newer instruction|\bvoided\b|superseded/, 'voided'],
  [/\bexpired\b|decided in time/, 'expired'],
  [/not_authorised|invalid_input|unknown_tool|version_mismatch|over_limit|\brefused\b/, 'refused'],
  [/\boffline\b/, 'offline'],
]

/** One truthful sentence or two about one proposed refund. */
export function outcomeSentence(call: Call): string {
  const what = `the refund of ${euros(Number(call.input.cents))} for ${String(call.input.orderId)}`
  const reason = reasonIn(call)
  const because = reason ? ` The reason given: “${reason}”` : ''
  switch (outcomeOf(call)) {
    case 'executed':
      return executed(call)
    case 'attested': {
      const {saidBy, receipt} = details(call)
      return `${capital(String(saidBy))} has checked it: ${what} went through. Their note: “${String(receipt)}”`
    }
    case 'rejected': {
      const {by} = details(call)
      return `${typeof by === 'string' ? capital(by) : 'The approver'} rejected ${what}, so no money moved.${because}`
    }
    case 'voided':
      return `A newer instruction withdrew ${what} before it started, so no money moved.`
    case 'cancelled':
      return `${capital(what)} was cancelled before it started, so no money moved.`
    case 'expired':
      return `Nobody decided on ${what} in time, so it lapsed and no money moved.`
    case 'stale':
      return `The order changed after I had read it, so the server did not run ${what} and no money moved.${because}`
    case 'refused':
      return `The server refused ${what}, so no money moved.${because}`
    case 'uncertain':
      return `It is not known whether ${what} went through. Somebody has to check before it is tried again.${because}`
    case 'offline':
      return `${capital(what)} could not reach the server, so no money moved.`
    case 'failed':
      return `${capital(what)} failed.${because}`
    case 'unknown':
      return `I have no outcome for ${what} yet.`
  }
}

function executed(call: Call): string {
  const {orderId, cents, refund, remainingCents} = receiptSchema.parse(call.result?.value)
  const rest =
    remainingCents > 0 ? `${euros(remainingCents)} of it can still be refunded` : 'nothing of it is left to refund'
  return `Refunded ${euros(cents)} for ${orderId}: receipt ${refund}; ${rest}.`
}

/** The words that came with a result, whatever shape the host gave them. */
export function reasonIn(call: Call): string | null {
  const value = call.result?.value
  if (typeof value === 'string') return value.trim() || null
  const {reason, note, message, error} = details(call)
  const words = [note, reason, message, error].find(candidate => typeof candidate === 'string' && candidate !== '')
  return typeof words === 'string' ? words : null
}

/** A superseded or aborted call carries its result one level down, under that word. */
function details(call: Call): Record<string, unknown> {
  const value = record(call.result?.value)
  return {...value, ...record(value.superseded), ...record(value.aborted)}
}

export function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
