import {personName} from '../people.ts'
import type {InboxItem} from '../runtime-types.ts'
import type {Tone} from './refund.ts'

export function remaining(ms: number): string {
  if (ms <= 0) return 'expired'
  const minutes = Math.ceil(ms / 60_000)
  if (minutes < 60) return `${minutes} min left`
  const hours = Math.round(minutes / 60)
  return hours < 48 ? `${hours} h left` : `${Math.round(hours / 24)} days left`
}

export function decisionWords({status, decidedBy}: InboxItem): {words: string; tone: Tone} {
  const by = decidedBy ? ` by ${personName(decidedBy)}` : ''
  switch (status) {
    case 'open':
      return {words: 'Open', tone: 'waiting'}
    case 'granted':
      return {words: `Approved${by}`, tone: 'done'}
    case 'rejected':
      return {words: `Rejected${by}`, tone: 'bad'}
    case 'expired':
      return {words: 'Expired', tone: 'quiet'}
    case 'voided':
      return {words: 'Withdrawn', tone: 'quiet'}
  }
}
