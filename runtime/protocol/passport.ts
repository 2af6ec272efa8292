import type {RunId, SessionId} from './ids.ts'
import type {OperationState} from './operation.ts'
import {hasEnded} from './operation.ts'
import {isActive, type Pin, type RunStatus, runStatus} from './run.ts'
import type {SessionState} from './session.ts'

export type Legal = {legal: boolean; why: string}

/** What run is this, exactly? Answered from records alone, the same on the device and on the server. [ID-5] */
export type Passport = {
  session: SessionId
  run: RunId
  attempt: number
  status: RunStatus
  pin: Pin
  custody: {holder: string | null; epoch: number}
  /** Last event that the server has confirmed to whoever answers. */
  lastConfirmed: number
  checkpoint: {step: string | null; steps: number; openCalls: {call: string; tool: string}[]}
  operations: Pick<OperationState, 'id' | 'tool' | 'status' | 'approval'>[]
  /** Events that only this device has; always empty on the server. */
  pending: string[]
  /** Events that the server refused, with its reason. */
  rejected: {event: string; kind: string; reason: string}[]
  may: Record<'resume' | 'retry' | 'correct' | 'fork' | 'cancel', Legal>
}

export type LocalRecords = Pick<Passport, 'pending' | 'rejected'>

export function passportOf(
  state: SessionState,
  local: LocalRecords = {pending: [], rejected: []},
  lastConfirmed = state.head,
): Passport | null {
  const {run, session, custody} = state
  if (!run || !session) return null
  // A copy: whoever is shown a record must not be able to change what it was read from.
  return structuredClone({
    session,
    run: run.id,
    attempt: run.attempt,
    status: runStatus(run, state.operations),
    pin: run.pin,
    custody,
    lastConfirmed,
    checkpoint: {
      step: run.step?.id ?? null,
      steps: run.steps,
      openCalls: state.calls.map(call => ({call: call.id, tool: call.tool})),
    },
    operations: state.operations
      .filter(operation => !hasEnded(operation))
      .map(({id, tool, status, approval}) => ({id, tool, status, approval})),
    ...local,
    may: legality(state),
  })
}

function legality(state: SessionState): Passport['may'] {
  const status = runStatus(state.run, state.operations)
  const active = isActive(state.run)
  const yes = (why: string): Legal => ({legal: true, why})
  const no = (why: string): Legal => ({legal: false, why})
  return {
    resume: state.unreadable
      ? no(`The log holds an event this version cannot read: ${state.unreadable.why}.`)
      : active
        ? yes(resumeReason(status))
        : no(`The run is ${status}; a new message starts another.`),
    retry:
      status === 'failed_retryable'
        ? yes('The run failed in a way that may pass; a retry goes on from its last confirmed step.')
        : no(`Only a run that failed retryably can be retried; this one is ${status}.`),
    correct: yes(
      active
        ? 'A new message steers this run and voids every operation that has not started, once the server has it.'
        : 'A new message starts the next run.',
    ),
    fork:
      state.head > 0
        ? yes(`A fork can start at any event the server has confirmed, up to ${state.head}. It undoes no operation.`)
        : no('A fork starts at an event that the server has confirmed; nothing of this session has reached it yet.'),
    cancel:
      active || status === 'failed_retryable'
        ? yes('Cancelling ends this run; what has already been executed stands.')
        : no(`The run is already ${status}.`),
  }
}

function resumeReason(status: RunStatus): string {
  switch (status) {
    case 'waiting_for_approval':
      return 'It goes on by itself when an approver decides.'
    case 'waiting_for_tool':
      return 'It goes on by itself when the server reports the outcome of the operation.'
    default:
      return 'The holder of custody goes on from the last confirmed step.'
  }
}
