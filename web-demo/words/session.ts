import type {Connection, SessionView, Status} from '../runtime-types.ts'
import {budgetWords} from './budget.ts'
import {refundsWords, type Tone} from './refund.ts'

const statuses: Record<Status, {words: string; tone: Tone}> = {
  idle: {words: 'Ready', tone: 'quiet'},
  new: {words: 'Ready', tone: 'quiet'},
  running: {words: 'Working', tone: 'done'},
  retrying: {words: 'Trying again', tone: 'done'},
  waiting_for_tool: {words: 'Waiting for the server', tone: 'waiting'},
  waiting_for_approval: {words: 'Waiting for approval', tone: 'waiting'},
  waiting_for_wake: {words: 'Sleeping', tone: 'quiet'},
  failed_retryable: {words: 'Stopped by an error', tone: 'bad'},
  failed_final: {words: 'Failed', tone: 'bad'},
  alerted: {words: 'Needs attention', tone: 'bad'},
  completed: {words: 'Done', tone: 'quiet'},
  cancelled: {words: 'Stopped', tone: 'quiet'},
  closed: {words: 'Closed', tone: 'quiet'},
}

export function statusWords(status: Status): {words: string; tone: Tone} {
  return statuses[status]
}

/** The run can still be stopped: it works, or it waits for somebody. */
export function isUnderWay(status: Status): boolean {
  return ['running', 'retrying', 'waiting_for_tool', 'waiting_for_approval', 'waiting_for_wake'].includes(status)
}

const connections: Record<Connection['state'], {words: string; tone: Tone}> = {
  live: {words: 'Connected', tone: 'done'},
  polling: {words: 'Connected, updates every few seconds', tone: 'done'},
  connecting: {words: 'Connecting', tone: 'quiet'},
  cut: {words: 'Offline by choice', tone: 'waiting'},
  unreachable: {words: 'Server out of reach', tone: 'waiting'},
  unauthenticated: {words: 'Not signed in', tone: 'bad'},
  local_only: {words: 'This device only', tone: 'quiet'},
}

export function connectionWords(connection: Connection): {words: string; tone: Tone} {
  return connections[connection.state]
}

/** The provider that needs no key must never pass for a language model. */
export function modelWords(model: string): string {
  if (/(?:^|[/:])rules$/.test(model)) return 'Rules provider – not a language model'
  return model.startsWith('gateway/') ? `${model.slice('gateway/'.length)}, through the server` : model
}

const notArrived = {
  message: 'Your newest message has not reached the server.',
  cancel: 'That you stopped the run has not reached the server.',
}

/** RUN-4: until the server has the correction, what it corrects may still happen, and the person has to know. */
export function lateCorrection({openOperations}: Pick<SessionView, 'openOperations'>): string | null {
  const late = openOperations.filter(({unsentVoid}) => unsentVoid === 'message' || unsentVoid === 'cancel')
  const by = late.at(-1)?.unsentVoid
  if (by !== 'message' && by !== 'cancel') return null
  return `${notArrived[by]} Until it does, ${refundsWords(late)} may still be paid.`
}

/** A run at its bound waits for a decision of the person; null for any other. */
export function boundWords({status, passport}: Pick<SessionView, 'status' | 'passport'>): string | null {
  if (status !== 'alerted' || !passport) return null
  return `The run has used what it was given: ${budgetWords(passport.bounds)}. Nothing more happens until you decide.`
}

/** What the person is waiting for, and that they need not wait. */
export function waitingWords({status, waitingFor}: Pick<SessionView, 'status' | 'waitingFor'>): string | null {
  if (status !== 'waiting_for_approval') return waitingFor
  return 'A team lead has to decide. You can go on writing: a new instruction withdraws this proposal.'
}
