import type {Kind} from './event.ts'
import type {Refusal} from './refusal.ts'

export type SessionStatus = 'unopened' | 'open'
type Row = {from: readonly SessionStatus[]; owner: Refusal['owner']; to: readonly SessionStatus[]}

/**
 * RUN-1 for the session itself: what is neither an event of a run nor of an operation. Together with `runTransitions` and
 * `operationTransitions` every kind of event stands in exactly one table, under its one owner.
 */
export const sessionTransitions = {
  'session.opened': {from: ['unopened'], owner: 'user', to: ['open']},
  'session.forked': {from: ['unopened'], owner: 'user', to: ['open']},
  'message.posted': {from: ['open'], owner: 'user', to: ['open']},
  'document.updated': {from: ['open'], owner: 'user', to: ['open']},
  'custody.granted': {from: ['open'], owner: 'control plane', to: ['open']},
  'custody.assumed': {from: ['open'], owner: 'user', to: ['open']},
} as const satisfies Partial<Record<Kind, Row>>
export type SessionTransition = keyof typeof sessionTransitions
