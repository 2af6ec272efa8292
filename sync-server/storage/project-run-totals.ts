import type {Event} from '../../runtime/protocol/event.ts'
import type {Where} from './project-events.ts'
import type {SqlQuery, SqlValue} from './sql.ts'

/** Token counts come from a device unverified. A sum must not overflow its column. */
const mostCounted = Number.MAX_SAFE_INTEGER

/** The time comes from a device's clock, unverified. Clamped to whole milliseconds since 1970 that fit the column. */
function saidAt({at}: Event): number {
  return Math.trunc(Math.min(Math.max(at, 0), Number.MAX_SAFE_INTEGER))
}

/** Updates the totals of a run in the transaction that appends to its log. [OBS-3] */
export async function projectRunTotals(tx: SqlQuery, where: Where, event: Event, at: number): Promise<void> {
  if (!event.run) return
  const {tenant, session, subject} = where
  const set = (assignments: string, ...values: SqlValue[]) =>
    tx.query(`UPDATE hf_run_totals SET ${assignments} WHERE tenant = $1 AND run = $2`, [
      tenant,
      event.run ?? '',
      ...values,
    ])
  const end = (status: string) => set('status = $3, ended_at = $4, counted_at = $5', status, saidAt(event), at)
  switch (event.kind) {
    case 'run.started':
      await tx.query(
        `INSERT INTO hf_run_totals (tenant, run, session, subject, status, started_at) VALUES ($1, $2, $3, $4, 'running', $5)
         ON CONFLICT DO NOTHING`,
        [tenant, event.run, session, subject, saidAt(event)],
      )
      return
    case 'step.prepared':
      await set('steps = steps + 1')
      return
    case 'model.replied': {
      const {inputTokens, outputTokens} = event.data.usage
      await set(
        `input_tokens = LEAST(input_tokens + $3, ${mostCounted}), output_tokens = LEAST(output_tokens + $4, ${mostCounted})`,
        inputTokens ?? 0,
        outputTokens ?? 0,
      )
      return
    }
    case 'run.completed':
      await end(event.data.outcome === 'finished' ? 'completed' : 'partial')
      return
    case 'run.cancelled':
      await end('cancelled')
      return
    case 'run.failed':
      await end('failed')
      if (event.data.retryable) await set('failures = failures + 1')
      return
    case 'run.resumed':
      await set('resumes = resumes + 1')
      return
    case 'operation.refused':
    case 'approval.rejected':
    case 'approval.expired':
      await set('refusals = refusals + 1')
      return
    case 'run.retried':
      await set(`status = 'running', ended_at = NULL, counted_at = NULL`)
      return
    default:
      return
  }
}
