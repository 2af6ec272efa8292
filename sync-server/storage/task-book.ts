import type {RunId, TenantId} from '../../runtime/protocol/ids.ts'
import type {UsageQuery} from './token-store.ts'

/** Totals of the runs that ended within a period, by outcome, and their resource usage. */
export type TaskTotals = {
  completed: number
  /** Runs that ended at a limit with a partial result. */
  partial: number
  failed: number
  cancelled: number
  /** Runs with at least one retryable failure. */
  failedOnce: number
  /**
   * Runs that had a retryable failure, were resumed, or had an effect refused. `recovered`: those of them that
   * completed.
   */
  metTrouble: number
  recovered: number
  steps: number
  inputTokens: number
  outputTokens: number
  /** Milliseconds from start to end, by the devices' clocks. */
  durationMs: number
  /** Percentiles of the duration of completed runs; null if none completed. */
  latencyMs: {p50: number; p95: number} | null
  /** Cost of the gateway calls of these runs. */
  costMicros: number
}

/** Current totals of one run. */
export type TaskRecord = {durationMs: number | null; metTrouble: boolean}

/** One row per run, folded from its events as they commit. Contains numbers only. [OBS-3] */
export interface TaskBook {
  /** Totals of runs whose end was accepted within the queried period. */
  totals(query: UsageQuery): Promise<TaskTotals>
  of(ref: {tenant: TenantId; run: RunId}): Promise<TaskRecord | null>
}
