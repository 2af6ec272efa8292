import type {RunId, TenantId} from '../../runtime/protocol/ids.ts'
import type {UsageQuery} from './token-store.ts'

/** Runs that ended within a time, by how they ended, and what all of them together took. */
export type TaskTotals = {
  completed: number
  /** Ended at a bound: a part of what was asked. */
  partial: number
  failed: number
  cancelled: number
  /** Of all of them: those that failed at least once in a way that may pass. */
  failedOnce: number
  /** Those that failed so, had to be resumed, or had an effect refused to them; and of these, those that completed. */
  metTrouble: number
  recovered: number
  steps: number
  inputTokens: number
  outputTokens: number
  /** Milliseconds from their starts to their ends, by the clocks of their devices. */
  durationMs: number
  /** Of those that completed, what half of them and what 95 of 100 took at most; null when none did. */
  latencyMs: {p50: number; p95: number} | null
  /** What the gateway's calls of these runs cost. */
  costMicros: number
}

/** One run as it stands. */
export type TaskRecord = {durationMs: number | null; metTrouble: boolean}

/** One row a run, folded from its events as they commit; it holds numbers only. [OBS-3] */
export interface TaskBook {
  /** Runs whose end was accepted in the time asked for. */
  totals(query: UsageQuery): Promise<TaskTotals>
  of(ref: {tenant: TenantId; run: RunId}): Promise<TaskRecord | null>
}
