import type {Event} from '../../runtime/protocol/event.ts'
import type {OperationId, TenantId} from '../../runtime/protocol/ids.ts'
import type {DueChange, DueName} from '../storage/due-work.ts'

/**
 * Returns the work that an event makes due or cancels. Pure. Stored in the event's transaction, so no change is lost.
 */
export function dueChangesOf(tenant: TenantId, event: Event, now: number): DueChange[] {
  const set = (name: DueName, key: OperationId, dueAt: number | null): DueChange => ({tenant, name, key, dueAt})
  switch (event.kind) {
    case 'operation.proposed':
    case 'operation.authorised':
    case 'operation.uncertain':
      return [set('operation', event.data.operation, now)]
    case 'operation.started':
      return [set('operation', event.data.operation, event.data.answersBy ?? now)]
    case 'approval.requested': {
      const {operation, expiresAt, escalation} = event.data
      const escalates = escalation ? [set('escalate', operation, escalation.at)] : []
      return [set('operation', operation, null), set('expire', operation, expiresAt), ...escalates]
    }
    case 'approval.granted': {
      const {operation} = event.data
      return [set('operation', operation, now), set('expire', operation, null), set('escalate', operation, null)]
    }
    case 'approval.escalated':
      return [set('escalate', event.data.operation, null)]
    case 'approval.rejected':
    case 'approval.expired':
    case 'operation.voided':
    case 'operation.refused':
      return (['operation', 'expire', 'escalate'] as const).map(name => set(name, event.data.operation, null))
    case 'operation.executed':
    case 'operation.failed':
      return [set('operation', event.data.operation, null)]
    default:
      return []
  }
}
