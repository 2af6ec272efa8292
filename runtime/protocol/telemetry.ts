import type {RunId} from './ids.ts'
import type {ModelCallName} from './model-call.ts'
import type {SessionState} from './session.ts'

/** Names and values that a span or a log line carries; no text that a person, a model or a tool wrote is ever among them. [VIEW-5] */
export type TelemetryFields = Record<string, string | number>

/**
 * What every span and log line about a session carries [OBS-1]: whose, which run and attempt, where it stands, and everything that
 * the run has pinned. Fields of the GenAI conventions keep their names; the others are ours.
 */
export function sessionFields(tenant: string | null, state: SessionState): TelemetryFields {
  const {session, custody, run} = state
  return {
    ...(tenant !== null && {'holdfast.tenant': tenant}),
    ...(session !== null && {'holdfast.session_id': session, 'gen_ai.conversation.id': session}),
    'holdfast.epoch': custody.epoch,
    ...(run && runFields(run)),
  }
}

/** The same about one run of the session: of a run that is not the current one only its id is known. */
export function fieldsAboutRun(
  tenant: string | null,
  state: SessionState,
  run: RunId | null | undefined,
): TelemetryFields {
  if (!run || state.run?.id === run) return sessionFields(tenant, state)
  return {...sessionFields(tenant, {...state, run: null}), 'holdfast.run_id': run}
}

/** What a model call says of itself: its device is ahead of the log that the server has. */
export function modelCallFields(tenant: string, name: ModelCallName | null): TelemetryFields {
  return {
    'holdfast.tenant': tenant,
    ...(name && {
      'holdfast.session_id': name.session,
      'gen_ai.conversation.id': name.session,
      'holdfast.run_id': name.run,
      'holdfast.step_id': name.step,
      'holdfast.attempt': name.attempt,
      'holdfast.try': name.try,
    }),
  }
}

function runFields({id, attempt, steps, step, pin}: NonNullable<SessionState['run']>): TelemetryFields {
  return {
    'holdfast.run_id': id,
    'holdfast.correlation_id': pin.correlation,
    'holdfast.attempt': attempt,
    'holdfast.step': steps,
    ...(step && {'holdfast.step_id': step.id}),
    'holdfast.max_steps': pin.budgets.maxSteps,
    'holdfast.route': pin.route.rule,
    'holdfast.route_table': pin.route.table,
    'holdfast.agent_version': pin.version,
    'holdfast.tools_hash': pin.toolsHash,
    'holdfast.model': pin.model.label,
    'holdfast.policy': pin.policy.name,
    'holdfast.memory_profile': pin.memory.name,
    'gen_ai.agent.name': pin.agent,
  }
}
