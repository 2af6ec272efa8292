import {type ErrorCode, HoldfastError} from './errors.ts'

/** An expected no, as a value: what was asked, what it met, whose transition it is, and what is legal instead. [RUN-9] */
export type Refusal = {
  code: Extract<ErrorCode, 'refused' | 'stale_epoch' | 'forbidden' | 'bad_input' | 'conflict' | 'unreadable_event'>
  asked: string
  met: string
  owner: 'user' | 'loop' | 'control plane' | 'approval service' | 'operation service' | 'memory service'
  legal: string[]
}

export function refused({kind}: {kind: string}, met: string, owner: Refusal['owner'], legal: string[]): Refusal {
  return {code: 'refused', asked: kind, met, owner, legal}
}

export function refusalSentence(refusal: Refusal): string {
  const legal = refusal.legal.length > 0 ? refusal.legal.join(', ') : 'nothing'
  return `asked for ${refusal.asked}, met ${refusal.met}; this transition belongs to the ${refusal.owner}; legal now: ${legal}`
}

export function refusalError(refusal: Refusal): HoldfastError {
  return new HoldfastError(refusal.code, refusalSentence(refusal), {details: {...refusal}})
}
