import type {LoggedEvent} from './event.ts'
import {evolve} from './evolve.ts'
import type {RunId, SessionId} from './ids.ts'
import type {OperationState} from './operation.ts'
import {hasEnded} from './operation.ts'
import {isActive, type Pin, type ResumedFrom, type RunStatus, runStatus} from './run.ts'
import {initialSession, type SessionState} from './session.ts'
import type {StandingEffects} from './standing-effects.ts'

export type Legal = {legal: boolean; why: string}

/** What run is this, exactly? Answered from records alone, the same on the device and on the server. [ID-5] */
export type Passport = {
  session: SessionId
  run: RunId
  attempt: number
  status: RunStatus
  pin: Pin
  custody: {holder: string | null; epoch: number}
  /** What whoever works on it now went on from; null while whoever started it goes on. [RUN-8] */
  resumedFrom: ResumedFrom | null
  /** For a run in a branch: where it branched off, and the effects after that point that it does not undo. [RUN-6] */
  branch: {from: {session: SessionId; seq: number}; standing: StandingEffects} | null
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

export type LocalRecords = Pick<Passport, 'pending' | 'rejected'> & {standing?: StandingEffects}

/** Why a run that is not the latest of its session can be neither resumed, retried nor cancelled. */
export const overReasons = {
  superseded: 'A later run of this session has started.',
  set_aside: 'Custody had moved on when this was done; the server never took it, and it is kept on this device.',
} as const

export function passportOf(
  state: SessionState,
  {standing, ...local}: LocalRecords = {pending: [], rejected: []},
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
    custody: {holder: custody.holder, epoch: custody.epoch},
    resumedFrom: run.resumedFrom ?? null,
    branch: state.forkedFrom && {from: state.forkedFrom, standing: standing ?? {effects: [], missing: []}},
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

/**
 * The control state as it was when the run was the latest of its session, folded from the events in log order; null for a
 * run that is not among them. [ID-5]
 */
export function stateOfRun(events: Iterable<LoggedEvent>, run: RunId): SessionState | null {
  let state = initialSession
  for (const event of events) {
    if (state.run?.id === run && event.kind === 'run.started') return state
    state = evolve(state, event)
  }
  return state.run?.id === run ? state : null
}

/** The passport of a run that is over because of what came after it. */
export function overPassport(passport: Passport, reason: keyof typeof overReasons): Passport {
  const over = {legal: false, why: overReasons[reason]}
  return {...passport, may: {...passport.may, resume: over, retry: over, cancel: over}}
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
