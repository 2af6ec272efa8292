import {SpanKind} from '@opentelemetry/api'
import {errorType} from '../../runtime/protocol/log-line.ts'
import {fieldsAboutRun, type TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {OperationDefinition, OperationRequest, Operations} from '../define-operation.ts'
import type {Store} from '../storage/store.ts'
import {type Meters, secondsSince} from './meters.ts'
import {inSpan} from './spans.ts'

/** Wraps each call of application code in a span. Input and receipt are not recorded. [OBS-1] */
export function tracedOperations(operations: Operations, store: Store, meters: Meters): Operations {
  const traced = Object.entries(operations).map(([name, definition]): [string, OperationDefinition] => [
    name,
    tracedOperation(name, definition, store, meters),
  ])
  return Object.fromEntries(traced)
}

function tracedOperation(
  tool: string,
  definition: OperationDefinition,
  store: Store,
  meters: Meters,
): OperationDefinition {
  const around = <T>(phase: string, request: OperationRequest<unknown>, work: () => Promise<T> | T): Promise<T> => {
    const name = phase === 'execute' ? `execute_tool ${tool}` : `holdfast.operation ${phase} ${tool}`
    const startedAt = performance.now()
    const done = (outcome: string) =>
      meters.record('holdfast.operation.duration', {tool, phase, outcome}, secondsSince(startedAt))
    return inSpan(
      name,
      SpanKind.CLIENT,
      () => fieldsOf(store, tool, phase, request),
      async () => {
        try {
          const result = await work()
          done('ok')
          return result
        } catch (error) {
          done(errorType(error))
          throw error
        }
      },
    )
  }
  const {reconcile} = definition
  return {
    ...definition,
    authorise: request => around('authorise', request, () => definition.authorise(request)),
    recheck: request => around('recheck', request, () => definition.recheck(request)),
    execute: request => around('execute', request, () => definition.execute(request)),
    // Keep an absent `reconcile` absent: then a person is asked for a verdict.
    ...(reconcile && {reconcile: request => around('reconcile', request, () => reconcile.call(definition, request))}),
  }
}

async function fieldsOf(
  {ledger, sessions}: Store,
  tool: string,
  phase: string,
  {tenant, subject, operation}: OperationRequest<unknown>,
): Promise<TelemetryFields> {
  const row = await ledger.operation({tenant, operation})
  const state = row && (await sessions.state({tenant, subject}, row.session))
  return {
    'holdfast.tenant': tenant,
    ...(row && {'holdfast.session_id': row.session, 'holdfast.run_id': row.run}),
    ...(state && fieldsAboutRun(tenant, state, row.run)),
    'holdfast.operation_id': operation,
    'holdfast.phase': phase,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
  }
}
