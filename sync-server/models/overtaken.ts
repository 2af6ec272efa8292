import type {ModelCallName} from '../../runtime/protocol/model-call.ts'
import {isActive} from '../../runtime/protocol/run.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'

/** Whether the server has seen the run and the step of a call. The server may lag behind the device. */
export type Sightings = {run: boolean; step: boolean}

/**
 * Determines whether the run continued without this call. Only a run or step that was seen before can be over;
 * otherwise the device's events may not have arrived yet. [RUN-3, RUN-7]
 */
export function isOvertaken(
  {run, step, attempt}: ModelCallName,
  state: SessionState,
  before: Sightings,
): {overtaken: boolean; seen: Sightings} {
  const own = state.run?.id === run
  const current = own && state.run?.attempt === attempt && state.run.step?.id === step
  const seen = {run: before.run || own, step: before.step || current}
  if (!own) return {overtaken: before.run, seen}
  const over = !isActive(state.run) || (state.run?.attempt ?? 0) > attempt || state.interruptedBy !== null
  const answered = current ? state.run?.step?.replied === true : before.step
  return {overtaken: over || answered, seen}
}
