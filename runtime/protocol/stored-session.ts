import type {CallId} from './ids.ts'
import type {OperationState} from './operation.ts'
import type {RunState} from './run.ts'
import {type CallState, initialSession, type SessionState} from './session.ts'
import {upcastPin} from './upcast-pin.ts'

/**
 * Reads a control state that any earlier build may have stored. Missing fields get their initial values; fields whose
 * form has changed are converted, at every depth. [LOG-8]
 */
export function storedSession(text: string): SessionState {
  const stored = JSON.parse(text) as Stored
  const run = stored.run ?? null
  return {
    ...initialSession,
    ...stored,
    run: run && upcastRun(run, stored.custody ?? initialSession.custody),
    calls: (stored.calls ?? []).map(call => upcastCall(call, run)),
    operations: (stored.operations ?? []).map(upcastOperation),
  }
}

/** Earlier builds stored the ids of all calls, and two clock times instead of measured work. */
type StoredRun = Pick<RunState, 'id' | 'pin' | 'startedBy'> &
  Partial<Omit<RunState, 'calls'>> & {calls?: number | CallId[]; clock?: unknown}
type StoredCall = Omit<CallState, 'place' | 'fault' | 'called'> & Partial<CallState>
type StoredApproval = Pick<NonNullable<OperationState['approval']>, 'id' | 'role' | 'reason' | 'expiresAt'>
type StoredOperation = Omit<OperationState, 'approval'> & {approval?: StoredApproval | null}
type Stored = Partial<Omit<SessionState, 'run' | 'calls' | 'operations'>> & {
  run?: StoredRun | null
  calls?: StoredCall[]
  operations?: StoredOperation[]
}

function upcastRun({clock: _clock, ...run}: StoredRun, worker: RunState['worker']): RunState {
  const pin = upcastPin(run.pin) as RunState['pin']
  return {...newRun, worker, ...run, pin, calls: Array.isArray(run.calls) ? run.calls.length : (run.calls ?? 0)}
}

const newRun = {
  attempt: 1,
  ended: null,
  retrying: false,
  extensions: 0,
  rest: null,
  pauses: 0,
  workedMs: 0,
  resumedFrom: null,
  unseen: 0,
  steps: 0,
  step: null,
  basis: {},
  usage: {inputTokens: 0, outputTokens: 0, unreported: 0},
} satisfies Partial<RunState>

function upcastCall(call: StoredCall, run: StoredRun | null): CallState {
  // A call of an earlier run is answered without being executed, so its place does not matter.
  const place = Array.isArray(run?.calls) ? Math.max(0, run.calls.indexOf(call.id)) : 0
  return {place, fault: null, called: false, ...call}
}

function upcastOperation(operation: StoredOperation): OperationState {
  const approval = operation.approval ? {...newApproval, ...operation.approval} : null
  return {...newOperation, ...operation, approval}
}

const newApproval = {approvers: 1, endorsedBy: [], voices: [], escalatedTo: null}
const newOperation = {basis: {}, verdictRole: null, outcome: null}
