import {errorCodes} from '../../runtime/protocol/errors.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {approvalIdSchema, operationIdSchema} from '../../runtime/protocol/ids.ts'
import {type Log, refusedByCode} from '../../runtime/protocol/log-line.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {fieldsAboutRun} from '../../runtime/protocol/telemetry.ts'
import type {EventVerdict} from '../../runtime/protocol/wire.ts'
import type {AuditEntry, SessionKey} from '../storage/store.ts'

type Around = {before: SessionState; after: SessionState}
type Told = Parameters<Log>

/** Logs a committed event that an operator may need to know, using the states before and after it. */
export function tellEvent(log: Log, {tenant}: Pick<SessionKey, 'tenant'>, event: Event, around: Around): void {
  const told = toldOf(tenant, event, around)
  if (told) log(...told)
}

function toldOf(tenant: string, event: Event, {before, after}: Around): Told | null {
  const fields = fieldsAboutRun(tenant, after, event.run)
  switch (event.kind) {
    case 'run.failed': {
      const {code, retryable} = event.data
      return ['run.failed', {...fields, 'holdfast.retryable': String(retryable)}, {code: known(code)}]
    }
    case 'operation.uncertain':
    case 'operation.executed':
    case 'operation.failed': {
      const {operation} = event.data
      const met = before.operations.find(({id}) => id === operation)
      const about = {...fields, 'holdfast.operation_id': operation, 'gen_ai.tool.name': met?.tool ?? ''}
      if (event.kind === 'operation.uncertain') return ['operation.uncertain', about]
      if (met?.status !== 'uncertain') return null
      const by = event.data.settledBy === undefined ? 'server' : 'person'
      return ['operation.reconciled', {...about, 'holdfast.outcome': event.kind, 'holdfast.settled_by': by}]
    }
    default:
      return null
  }
}

/**
 * Codes that indicate a faulty device or an attack. Refusals caused by the session's state are routine and are not
 * logged.
 */
const suspicious = ['forbidden', 'conflict', 'bad_input', 'unreadable_event', 'stale_epoch'] as const

/** Logs one line per code with the number of refused events. The content of the events is not logged. [VIEW-5] */
export function tellVerdicts(
  log: Log,
  {tenant}: Pick<SessionKey, 'tenant'>,
  state: SessionState,
  verdicts: readonly EventVerdict[],
): void {
  const counts = refusedByCode(verdicts)
  for (const code of suspicious) {
    const count = counts.get(code)
    if (count === undefined) continue
    const event = code === 'stale_epoch' ? 'epoch.stale' : 'event.refused'
    log(event, {...fieldsAboutRun(tenant, state, null), 'holdfast.events': count}, {code})
  }
}

/** Logs refused attempts, which otherwise only the audit records. */
export function tellAudit(log: Log, {tenant, action, about}: AuditEntry): void {
  if (!/refused$/.test(action) || action === 'memory.refused') return
  const [operation, approval] = [operationIdSchema.safeParse(about), approvalIdSchema.safeParse(about)]
  log('decision.refused', {
    'holdfast.tenant': tenant,
    'holdfast.action': action,
    ...(operation.success && {'holdfast.operation_id': operation.data}),
    ...(approval.success && {'holdfast.approval_id': approval.data}),
  })
}

/** A device may write any text as the code, so unknown codes are not logged. */
function known(code: string): string {
  return (errorCodes as readonly string[]).includes(code) ? code : 'unknown'
}
