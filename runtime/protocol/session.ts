import * as z from 'zod'
import {type BusyPolicy, busyPolicySchema} from './busy-policy.ts'
import {type Calibration, initialCalibration} from './calibration.ts'
import {emptyView, type ViewSize} from './compaction.ts'
import {type CustodyState, initialCustody, refuseAssumption} from './custody.ts'
import type {Event, LoggedEvent} from './event.ts'
import {
  type CallId,
  correlationIdSchema,
  type DeviceId,
  type EventId,
  type RunId,
  type SessionId,
  sessionIdSchema,
} from './ids.ts'
import type {Json} from './json.ts'
import type {OperationState} from './operation.ts'
import {type RunState, type RunStatus, runPersonKinds, runStatus} from './run.ts'
import {noSlots, type Slots, slotsSchema} from './slots.ts'
import type {Effect} from './tool.ts'
import {limits} from './version.ts'

export {type BusyPolicy, busyPolicySchema} from './busy-policy.ts'

export const sessionTitleSchema = z
  .string()
  .min(1)
  .max(limits.titleCharacters, `expected at most ${limits.titleCharacters} characters`)

export const sessionKinds = {
  'session.opened': z.strictObject({
    agent: z.string().min(1).max(100),
    policy: busyPolicySchema,
    title: sessionTitleSchema.optional(),
  }),
  'session.forked': z.strictObject({
    agent: z.string().min(1).max(100),
    policy: busyPolicySchema,
    title: sessionTitleSchema.optional(),
    from: z.strictObject({session: sessionIdSchema, seq: z.int().positive()}),
    /** The source's slots as of that event; the server compares them with its own fold. [WRK-3] */
    slots: slotsSchema.optional(),
  }),
  'message.posted': z.strictObject({
    text: z
      .string()
      .min(1, 'expected a message of at least one character')
      .max(limits.messageCharacters, `expected at most ${limits.messageCharacters} characters`),
    /** Overrides the session's policy for this message. */
    policy: busyPolicySchema.optional(),
    /** What this message belongs to elsewhere; the run that it starts is pinned to it. [PIN-1] */
    correlation: correlationIdSchema.optional(),
  }),
  /** No message and no run after this one; what is open and has not started is void. */
  'session.closed': z.strictObject({
    reason: z
      .string()
      .max(limits.reasonCharacters, `expected at most ${limits.reasonCharacters} characters`)
      .optional(),
  }),
  ...runPersonKinds,
}

export type CallState = {
  id: CallId
  run: RunId
  tool: string
  effect: Effect | 'unknown'
  input: Json
  fault: string | null
  /** Index among all calls of its run, from 0. The bound on calls compares it. */
  place: number
  /** The intent is recorded: the effect may have been tried. */
  called: boolean
}

/**
 * Control state: everything that decides what may happen next, and nothing else. Small however long the transcript,
 * folded as events commit and stored beside the log on both sides.
 */
export type SessionState = {
  session: SessionId | null
  agent: string | null
  policy: BusyPolicy
  title: string | null
  forkedFrom: {session: SessionId; seq: number} | null
  /** The last confirmed event folded in; 0 for none. */
  head: number
  custody: CustodyState
  /** The last confirmed event of a custody holder; 0 for none. */
  worked: number
  /** The last event of each device: what it wrote before that can no longer be appended. */
  written: Readonly<Record<DeviceId, number>>
  /** The latest run, active or not. */
  run: RunState | null
  /** Calls that have no result yet, oldest first, of whichever run. [LOG-7] */
  calls: CallState[]
  /** Operations whose call has no result yet, or that have not ended. */
  operations: OperationState[]
  /** Messages that no step has seen yet, oldest first. */
  unanswered: EventId[]
  /** Messages that wait for the active run to end before any step may see them. [RUN-3] */
  queued: EventId[]
  /** The newest message that wants the step under way stopped for it; null once a step has seen it. */
  interruptedBy: EventId | null
  /** The agent's scratchpad. [WRK-1] */
  slots: Slots
  /** Size of the complete view, which decides when to summarise. [VIEW-3] */
  view: ViewSize
  /** How the model counts tokens and how much it accepts. */
  calibration: Calibration
  unreadable: {event: EventId; why: string} | null
  /** The event that closed the session; null while it is open. */
  closed: EventId | null
}

export const initialSession: SessionState = {
  session: null,
  agent: null,
  policy: 'steer',
  title: null,
  forkedFrom: null,
  head: 0,
  custody: initialCustody,
  worked: 0,
  written: {},
  run: null,
  calls: [],
  operations: [],
  unanswered: [],
  queued: [],
  interruptedBy: null,
  slots: noSlots,
  view: emptyView,
  calibration: initialCalibration,
  unreadable: null,
  closed: null,
}

export type Message = Extract<Event, {kind: 'message.posted'}>

/** What this message does if it finds the run active; an inactive session simply takes it. */
export function policyOf(state: SessionState, message: Pick<Message['data'], 'policy'>): BusyPolicy {
  return message.policy ?? state.policy
}

/** The status of the latest run, or that the whole session is closed. */
export function sessionStatus(state: SessionState): RunStatus {
  return state.closed ? 'closed' : runStatus(state.run, state.operations)
}

/** Work under custody that has moved on: it can never be confirmed, so its device goes on without it. [CUS-1, CUS-4] */
export function isFenced(state: SessionState, event: LoggedEvent): boolean {
  if (event.device === null) return false
  if (event.kind === 'custody.assumed' && !('unreadable' in event)) return refuseAssumption(state, event) !== null
  if (event.epoch === undefined || state.custody.epoch === 0) return false
  return event.epoch !== state.custody.epoch || event.device !== state.custody.holder
}
