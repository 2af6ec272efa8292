import {type Bound, boundsOf, type RunUsage, usageOf} from './budget.ts'
import type {LoggedEvent} from './event.ts'
import {evolve} from './evolve.ts'
import type {RunId, SessionId} from './ids.ts'
import type {OperationState} from './operation.ts'
import {hasEnded} from './operation.ts'
import {isActive, type Pin, type ResumedFrom, type RunStatus} from './run.ts'
import {initialSession, type SessionState, sessionStatus} from './session.ts'
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
  /** Usage up to the run's last event. [BUD-2] */
  usage: RunUsage
  bounds: Bound[]
  /** When a sleeping run wakes by itself, milliseconds since 1970; null for one that does not sleep. */
  wakesAt: number | null
  /** Events that only this device has; always empty on the server. */
  pending: string[]
  /** Events that the server refused, with its reason. */
  rejected: {event: string; kind: string; reason: string}[]
  may: Record<'resume' | 'retry' | 'extend' | 'migrate' | 'correct' | 'fork' | 'cancel', Legal>
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
    status: sessionStatus(state),
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
    usage: usageOf(run),
    bounds: boundsOf(run),
    wakesAt: run.rest?.asleep ? run.rest.until : null,
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
  return {...passport, may: {...passport.may, resume: over, retry: over, extend: over, migrate: over, cancel: over}}
}

/** Everything a person may ask of a run, with the reason either way: one table for every status. */
function legality(state: SessionState): Passport['may'] {
  const status = sessionStatus(state)
  const active = isActive(state.run) && !state.closed
  const stopped = status === 'failed_retryable' || status === 'alerted'
  const rule = (legal: boolean, yes: string, no: string): Legal => ({legal, why: legal ? yes : no})
  const over = state.closed ? 'The session is closed.' : `The run is already ${status}.`
  return {
    resume: state.unreadable
      ? rule(false, '', `The log holds an event this version cannot read: ${state.unreadable.why}.`)
      : rule(active, resumeReason(status), notResumed(status)),
    retry: rule(
      status === 'failed_retryable',
      'The run failed in a way that may pass; a retry goes on from its last confirmed step.',
      `Only a run that failed retryably can be retried; this one is ${status}.`,
    ),
    extend: rule(
      status === 'alerted',
      'The run stopped at a bound; extending it adds one more budget, and it goes on where it stopped.',
      `Only a run that stopped at a bound and asked can be extended; this one is ${status}.`,
    ),
    migrate: rule(
      active || stopped,
      `The run may be moved to another version of "${state.run?.pin.agent}" that takes every open call as it is.`,
      `A run that goes on no more keeps the version it ended with. ${over}`,
    ),
    correct: rule(
      state.closed === null,
      active
        ? 'A new message steers this run and voids every operation that has not started, once the server has it.'
        : 'A new message starts the next run.',
      'The session is closed: it takes no message.',
    ),
    fork: rule(
      state.head > 0,
      `A fork can start at any event the server has confirmed, up to ${state.head}. It undoes no operation.`,
      'A fork starts at an event that the server has confirmed; nothing of this session has reached it yet.',
    ),
    cancel: rule(active || stopped, 'Cancelling ends this run; what has already been executed stands.', over),
  }
}

function notResumed(status: RunStatus): string {
  switch (status) {
    case 'alerted':
      return 'The run stopped at a bound: a person extends it, or cancels it.'
    case 'closed':
      return 'The session is closed: nothing goes on in it.'
    default:
      return `The run is ${status}; a new message starts another.`
  }
}

function resumeReason(status: RunStatus): string {
  switch (status) {
    case 'waiting_for_approval':
      return 'It goes on by itself when an approver decides.'
    case 'waiting_for_tool':
      return 'It goes on by itself when the server reports the outcome of the operation.'
    case 'waiting_for_wake':
      return 'It goes on by itself at its time, at the next message, or when it is woken from outside.'
    default:
      return 'The holder of custody goes on from the last confirmed step.'
  }
}
