import {personName} from '../people.ts'
import type {InboxItem, KeptDecision} from '../runtime-types.ts'
import {list, refundInput, type Tone} from './refund.ts'

export function remaining(ms: number): string {
  if (ms <= 0) return 'expired'
  const minutes = Math.ceil(ms / 60_000)
  if (minutes < 60) return `${minutes} min left`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h left` : `${Math.round(hours / 24)} days left`
}

export function decisionWords({status, decidedBy, endorsements}: InboxItem): {words: string; tone: Tone} {
  const by = decidedBy ? ` by ${personName(decidedBy)}` : ''
  switch (status) {
    case 'open':
      return {words: 'Open', tone: 'waiting'}
    case 'granted':
      return {words: `Approved${endorsements.length > 1 ? ` by ${list(endorsements.map(said))}` : by}`, tone: 'done'}
    case 'rejected':
      return {words: `Rejected${by}`, tone: 'bad'}
    case 'expired':
      return {words: 'Expired', tone: 'quiet'}
    case 'voided':
      return {words: 'Withdrawn', tone: 'quiet'}
  }
}

function said({by, delegatedBy}: InboxItem['endorsements'][number]): string {
  return delegatedBy ? `${personName(by)} for ${personName(delegatedBy)}` : personName(by)
}

/** How far an approval by several people has come; null where one is enough. */
export function peopleWords({approvers, endorsements}: InboxItem): string | null {
  if (approvers === 1) return null
  if (endorsements.length === 0) return `${approvers} people have to say yes. Nobody has so far.`
  const missing = approvers - endorsements.length
  return `${list(endorsements.map(said))} said yes. ${missing} more ${missing === 1 ? 'person has' : 'people have'} to.`
}

/** Who is asked as well, or will be; null where nobody is. */
export function escalationWords({escalation}: InboxItem, now: number): string | null {
  if (!escalation) return null
  if (escalation.happened) return 'Nobody decided for a while, so the head of service is asked as well.'
  const minutes = Math.max(1, Math.ceil((escalation.at - now) / 60_000))
  return `Without a decision, the head of service is asked as well in ${minutes} min.`
}

/** Why there is nothing to press; null when there is. */
export function standingWords({you, approvers, endorsements}: InboxItem): string | null {
  switch (you) {
    case 'may_decide':
      return null
    case 'has_decided':
      return `You have said yes. It waits for ${approvers - endorsements.length} more.`
    case 'asked_for_it':
      return 'You asked for this yourself, so somebody else has to decide.'
  }
}

/** A decision that the server has not taken: what it is worth, said so that nobody takes it for done. [APP-4] */
export function keptWords({signed, item, refused}: KeptDecision): string {
  const what = `${signed.intent.verdict === 'approve' ? 'yes' : 'no'} to ${aboutWords(item)}`
  return refused === null
    ? `Your ${what} is signed and kept on this device. Nothing is decided until the server has taken it.`
    : `The server did not take your ${what}. ${refused}`
}

/** What was asked for; after an erasure the record still says that something was. */
export function aboutWords({shown}: Pick<InboxItem, 'shown'>): string {
  if (shown.input === null) return 'a refund that was erased'
  const {amount, orderId} = refundInput(shown)
  return `${amount} for order ${orderId}`
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString('en-GB', {hour: '2-digit', minute: '2-digit'})
}
