import {isAtRest} from '../protocol/at-rest.ts'
import {callLimit, callsBound, spentBound, stepBound} from '../protocol/budget.ts'
import {viewTokensOf} from '../protocol/calibration.ts'
import type {DeviceId, EventId, RunId} from '../protocol/ids.ts'
import type {Json} from '../protocol/json.ts'
import {hasEnded, type OperationState, resultOutcome} from '../protocol/operation.ts'
import type {Pin} from '../protocol/pin.ts'
import {isActive, type Rest, type RunState, type toolOutcomes} from '../protocol/run.ts'
import type {CallState, SessionState} from '../protocol/session.ts'
import type {PinnedTool} from '../protocol/tool.ts'
import {compactAtEvents, defaultCompactAt} from './view-budget.ts'

export type CallResult = {call: CallState; outcome: (typeof toolOutcomes)[number]; output: Json}

/** An agent that this build can run. */
export type AgentBuild = {name: string; version: string; tools: readonly PinnedTool[]; instructionsHash?: string}

/** Exactly one thing to do next; performing it appends events, which leads to the next. */
export type NextStep =
  | {do: 'idle'}
  | {do: 'take-custody'}
  | {do: 'start-run'}
  | {do: 'resume-run'}
  | {do: 'prepare-view'; answers: EventId[]}
  /** Earlier turns are summarised first; there is no open call, so that none is parted from its result. [VIEW-3] */
  | {do: 'compact'; answers: EventId[]}
  | {do: 'call-model'}
  | {do: 'run-tools'; calls: CallState[]}
  | {do: 'propose-operations'; calls: CallState[]}
  /** `apart`: this build does not have the run's version, so no view is prepared after the results. */
  | {do: 'record-results'; results: CallResult[]; apart?: true}
  | {do: 'wait'; for: 'approval' | 'operation' | 'custody' | 'version'; why: string}
  | {do: 'wait'; for: 'wake'; why: string; until: number; inMs: number}
  | {do: 'sleep'; until: number; why: string}
  | {do: 'wake'; by: 'time' | 'message'}
  | {do: 'stop'; bound: string}
  | {do: 'alert'; bound: string}
  | {do: 'finish'}

/** What the judgement rests on besides the log; `now` is milliseconds since 1970. */
export type Here = {
  device: DeviceId
  agents: readonly AgentBuild[]
  now: number
  /** Milliseconds of work for the run that no event has recorded yet. */
  workMs?: number
  /** Milliseconds since this process first saw the run asleep, on a monotonic clock. */
  sleptMs?: number
  /** Whether the newest unanswered message was posted on this device. */
  isAsked?: boolean
  /** The run that this process started or resumed; null for none yet. Omitted by callers that never restart. */
  began?: RunId | null
}

/**
 * The whole of the loop's judgement, pure: control state in, next step out.
 *
 *   start-run ─▶ prepare-view ─▶ call-model ─┬─▶ finish
 *                     ▲                      ├─▶ run-tools ──────────────┐
 *                     │                      └─▶ propose-operations ─▶ wait
 *                     └──────────────── every call has its result ◀──────┘   [LOG-7]
 */
export function nextStep(state: SessionState, here: Here): NextStep {
  if (state.session === null || !hasWork(state)) return {do: 'idle'}
  if (state.unreadable)
    return {
      do: 'wait',
      for: 'version',
      why: `The log holds an event this version cannot read: ${state.unreadable.why}.`,
    }
  const run = state.run
  if (state.custody.holder !== here.device) {
    // A holder blocks other devices only while it works. A device with a new message takes custody of a session at rest,
    // if it can go on with the run. [CUS-3]
    const canGoOn = !run || !isActive(run) || lackingBuild(run.pin, here.agents) === null
    if (here.isAsked && isAtRest(state) && canGoOn) return {do: 'take-custody'}
    return {do: 'wait', for: 'custody', why: 'Another device is working on this session.'}
  }
  if (!run || !isActive(run)) return {do: 'start-run'}
  const next = nextOf(state, run, here)
  return next.do !== 'wait' && resumes(run, state, here) ? {do: 'resume-run'} : next
}

/**
 * Results that follow from the records are stored first, even if this build lacks the run's version. [PIN-3] Not while
 * the run sleeps: the log refuses a result then.
 */
function nextOf(state: SessionState, run: RunState, here: Here): NextStep {
  const lacking = lackingBuild(run.pin, here.agents)
  if (lacking) {
    const results = run.rest?.asleep ? [] : resultsOf(state, run)
    return results.length > 0
      ? {do: 'record-results', results, apart: true}
      : {do: 'wait', for: 'version', why: lacking}
  }
  return run.rest?.asleep ? asleepStep(state, run.rest, here) : workStep(state, run, here.workMs ?? 0)
}

function resultsOf(state: SessionState, run: RunState): CallResult[] {
  const operationOf = new Map(state.operations.map(operation => [operation.call, operation]))
  return state.calls.flatMap(call => resultOf(call, operationOf.get(call.id), run, state) ?? [])
}

function workStep(state: SessionState, run: RunState, workMs: number): NextStep {
  return callsStep(state, run, workMs) ?? modelStep(state, run, workMs)
}

/** The next step of the holder, after it has appended an event of the run. */
export function goesOnWith(state: SessionState, workMs: number): NextStep | null {
  const {run, unreadable, closed} = state
  return run && isActive(run) && !run.rest?.asleep && !unreadable && !closed ? workStep(state, run, workMs) : null
}

/** True when another holder or an earlier process began the run: a `resumed` record is appended first. [RUN-8] */
function resumes({id, worker}: RunState, {custody}: SessionState, {began}: Here): boolean {
  if (worker.holder !== custody.holder || worker.epoch !== custody.epoch) return true
  return began !== undefined && began !== id
}

/**
 * True when a run is active or about to start. Messages that a failed or cancelled run left unanswered do not start a
 * run: it would fail in the same way. A newer message does.
 */
export function hasWork({run, unanswered, closed}: SessionState): boolean {
  if (closed) return false
  return isActive(run) || unanswered.length > (run?.unseen ?? 0)
}

/** A run continues only with its pinned version. This build may have several. [PIN-3] */
function lackingBuild({agent, version, tools, instructionsHash}: Pin, agents: readonly AgentBuild[]): string | null {
  const builds = agents.filter(({name}) => name === agent)
  if (builds.length === 0) return `The run is pinned to the agent "${agent}"; this build has none of that name.`
  const build = builds.find(one => one.version === version)
  if (build) {
    const rewritten = instructionsHash && build.instructionsHash && instructionsHash !== build.instructionsHash
    if (!rewritten) return swappedTool(tools, build.tools)
    return `The run is pinned to other instructions of "${agent}" than this build has under the same version ${version}.`
  }
  const has = builds.map(one => one.version).join(' and ')
  return `The run is pinned to version ${version} of "${agent}"; this build has ${has}.`
}

/** A tool that changed under the same agent version would change the meaning of open calls. [PIN-2] */
function swappedTool(pinned: readonly PinnedTool[], here: readonly PinnedTool[]): string | null {
  const described = ({version, effect}: PinnedTool) => `version ${version} (${effect})`
  for (const tool of pinned) {
    const own = here.find(({name}) => name === tool.name)
    if (!own) return `The run is pinned to a tool "${tool.name}"; this build has none of that name.`
    if (described(own) !== described(tool))
      return `The run is pinned to ${described(tool)} of the tool "${tool.name}"; this build has ${described(own)}.`
    if (own.hash !== tool.hash)
      return `This build describes the tool "${tool.name}" otherwise than the run was pinned to, under the same version ${tool.version}.`
  }
  const added = here.find(({name}) => !pinned.some(tool => tool.name === name))
  if (added) return `The run started without the tool "${added.name}" that this build has.`
  // A prompt names the tools in their order, and must be built again byte for byte. [VIEW-2]
  const sameOrder = pinned.every(({name}, i) => here[i]?.name === name)
  return sameOrder ? null : 'The run is pinned to the same tools in another order.'
}

/** A sleep never lasts longer than its author set, even if a clock was set back. */
function asleepStep({unanswered}: SessionState, rest: Rest, {now, sleptMs = 0}: Here): NextStep {
  if (unanswered.length > 0) return {do: 'wake', by: 'message'}
  const {until, why, forMs = Number.POSITIVE_INFINITY} = rest
  const inMs = Math.min(until - now, forMs - sleptMs)
  return inMs <= 0 ? {do: 'wake', by: 'time'} : {do: 'wait', for: 'wake', why, until, inMs}
}

function callsStep(state: SessionState, run: RunState, workMs: number): NextStep | null {
  if (state.calls.length === 0) return null
  const operationOf = new Map(state.operations.map(operation => [operation.call, operation]))
  const results = resultsOf(state, run)
  if (results.length > 0) return {do: 'record-results', results}
  const todo = state.calls.filter(call => !operationOf.has(call.id))
  const spent = spentBound(run, workMs)
  const allowed = spent ? [] : todo.filter(call => call.place < callLimit(run))
  const over = todo.filter(call => !allowed.includes(call))
  const bound = spent ?? callsBound(run)
  if (bound && over.length > 0 && run.pin.budgets.onBound === 'partial') return overResults(over, bound)
  const proposals = allowed.filter(call => call.effect === 'external')
  if (proposals.length > 0) return {do: 'propose-operations', calls: proposals}
  if (allowed.length > 0) return {do: 'run-tools', calls: allowed}
  if (bound && over.length > 0 && over.length === state.calls.length) return {do: 'alert', bound}
  return waitFor(state.operations)
}

/** A run that ends here leaves no call without a result. [LOG-7] */
function overResults(calls: CallState[], bound: string): NextStep {
  const output = {reason: `The run is at its bound of ${bound}; this was not run.`}
  return {do: 'record-results', results: calls.map(call => ({call, outcome: 'aborted', output}))}
}

/**
 * A result that needs nothing but the records: the call is faulty, left over from an ended run, or overtaken by a newer
 * instruction, or its operation has ended.
 */
function resultOf(
  call: CallState,
  operation: OperationState | undefined,
  run: RunState,
  {unanswered, interruptedBy}: SessionState,
): CallResult | null {
  if (call.fault !== null) return {call, outcome: 'error', output: {error: call.fault}}
  if (call.effect === 'unknown')
    return {call, outcome: 'error', output: {error: `There is no tool named "${call.tool}".`}}
  if (operation && hasEnded(operation)) return {call, outcome: resultOutcome(operation), output: operation.outcome}
  if (call.run !== run.id) return {call, outcome: 'aborted', output: {reason: abortReason(operation)}}
  if (operation) return null
  if (interruptedBy) return {call, outcome: 'superseded', output: {reason: 'A newer instruction interrupted this.'}}
  if (call.effect === 'external' && unanswered.length > 0) return {call, outcome: 'superseded', output: overtaken}
  return null
}

const overtaken = {reason: 'A newer instruction arrived before this was proposed.'}

function abortReason(operation: OperationState | undefined): string {
  return operation
    ? `The run was ended while the operation was ${operation.status}; its outcome is not known here.`
    : 'The run was ended before this call returned.'
}

function waitFor(operations: readonly OperationState[]): NextStep {
  const approval = operations.find(operation => operation.status === 'awaiting_approval')
  if (approval)
    return {
      do: 'wait',
      for: 'approval',
      why: `Waiting for someone with the role "${approval.approval?.role}" to decide.`,
    }
  if (operations.some(operation => operation.status === 'uncertain')) {
    return {do: 'wait', for: 'operation', why: 'The outcome of an operation is uncertain; it is being checked.'}
  }
  return {do: 'wait', for: 'operation', why: 'Waiting for the server to carry out the operation.'}
}

function modelStep(state: SessionState, run: RunState, workMs: number): NextStep {
  const {step} = run
  const news = state.unanswered.length > 0
  if (step?.final && !news) return {do: 'finish'}
  const waitsForReply = step !== null && !step.replied && !news
  const bound = waitsForReply ? spentBound(run, workMs) : stepBound(run, workMs)
  if (bound) return {do: run.pin.budgets.onBound === 'partial' ? 'stop' : 'alert', bound}
  if (run.rest && !news) return {do: 'sleep', until: run.rest.until, why: run.rest.why}
  if (waitsForReply) return {do: 'call-model'}
  return {do: isTooLarge(state, run) ? 'compact' : 'prepare-view', answers: state.unanswered}
}

/** A second summary without a reply in between would be the same. */
function isTooLarge({view, calibration}: SessionState, {pin: {budgets}}: RunState): boolean {
  const {compactAt = defaultCompactAt} = budgets
  const viewTokens = viewTokensOf(calibration, budgets)
  return !view.fresh && (view.tokens > compactAt * viewTokens || view.events > compactAtEvents)
}
