import type {Draft} from '../protocol/event.ts'
import type {OperationId} from '../protocol/ids.ts'
import type {CallState, SessionState} from '../protocol/session.ts'

/**
 * An event of the run, attempt, step and epoch that the loop's step was chosen under, not of those it finds when the
 * step is done: what was overtaken meanwhile is refused instead of being taken for the outcome of something else.
 */
export function runDraft<K extends Draft['kind']>(
  {run, custody}: SessionState,
  kind: K,
  data: Extract<Draft, {kind: K}>['data'],
): Extract<Draft, {kind: K}> {
  return {kind, data, run: run?.id, step: run?.step?.id, attempt: run?.attempt, epoch: custody.epoch} as Extract<
    Draft,
    {kind: K}
  >
}

/** The call as it was made, at the version the run pinned, resting on the facts it has read. [OP-2] */
export function proposalDraft(state: SessionState, call: CallState, operation: OperationId) {
  const {run} = state
  const pinned = run?.pin.tools.find(tool => tool.name === call.tool)
  return runDraft(state, 'operation.proposed', {
    operation,
    call: call.id,
    tool: call.tool,
    version: pinned?.version ?? '1',
    input: call.input,
    basis: run?.basis ?? {},
  })
}
