import type {Sql} from './sql.ts'
import type {TaskBook, TaskTotals} from './task-book.ts'

const metTrouble = 'failures + resumes + refusals > 0'
const duration = 'CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END'

export function pgTasks(sql: Sql): TaskBook {
  return {
    totals: async ({tenant, subject, from, to}) => {
      const whose = subject === null ? '' : 'AND t.subject = $4'
      const [row] = await sql.query<Record<Exclude<keyof TaskTotals, 'latencyMs'> | 'p50' | 'p95', number | null>>(
        `SELECT ${counted('completed')}, ${counted('partial')}, ${counted('failed')}, ${counted('cancelled')},
           COUNT(CASE WHEN failures > 0 THEN 1 END) AS "failedOnce",
           COUNT(CASE WHEN ${metTrouble} THEN 1 END) AS "metTrouble",
           COUNT(CASE WHEN ${metTrouble} AND status = 'completed' THEN 1 END) AS recovered,
           ${percentile(50)}, ${percentile(95)},
           SUM(steps) AS steps, SUM(input_tokens) AS "inputTokens", SUM(output_tokens) AS "outputTokens",
           SUM(${duration}) AS "durationMs",
           SUM((SELECT SUM(cost_micros) FROM hf_model_calls c WHERE c.tenant = t.tenant AND c.run = t.run))
             AS "costMicros"
         FROM hf_run_totals t WHERE t.tenant = $1 AND t.counted_at >= $2 AND t.counted_at < $3 ${whose}`,
        [tenant, from, to, ...(subject === null ? [] : [subject])],
      )
      const of = (name: keyof NonNullable<typeof row>) => Number(row?.[name] ?? 0)
      return {
        completed: of('completed'),
        partial: of('partial'),
        failed: of('failed'),
        cancelled: of('cancelled'),
        failedOnce: of('failedOnce'),
        metTrouble: of('metTrouble'),
        recovered: of('recovered'),
        latencyMs: of('completed') === 0 ? null : {p50: of('p50'), p95: of('p95')},
        steps: of('steps'),
        inputTokens: of('inputTokens'),
        outputTokens: of('outputTokens'),
        durationMs: of('durationMs'),
        costMicros: of('costMicros'),
      }
    },
    of: async ({tenant, run}) => {
      const [row] = await sql.query<{ended_at: number | null; took: number; trouble: boolean}>(
        `SELECT ended_at, ${duration} AS took, ${metTrouble} AS trouble FROM hf_run_totals WHERE tenant = $1 AND run = $2`,
        [tenant, run],
      )
      return row ? {durationMs: row.ended_at === null ? null : Number(row.took), metTrouble: row.trouble} : null
    },
  }
}

function percentile(share: 50 | 95): string {
  return `percentile_cont(0.${share}) WITHIN GROUP (ORDER BY ${duration}) FILTER (WHERE status = 'completed') AS p${share}`
}

function counted(status: 'completed' | 'partial' | 'failed' | 'cancelled'): string {
  return `COUNT(CASE WHEN status = '${status}' THEN 1 END) AS ${status}`
}
