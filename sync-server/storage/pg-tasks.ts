import type {Sql} from './sql.ts'
import type {TaskBook, TaskTotals} from './task-book.ts'

export function pgTasks(sql: Sql): TaskBook {
  return {
    totals: async ({tenant, subject, from, to}) => {
      const whose = subject === null ? '' : 'AND t.subject = $4'
      const [row] = await sql.query<Record<keyof TaskTotals, number | null>>(
        `SELECT ${counted('completed')}, ${counted('partial')}, ${counted('failed')}, ${counted('cancelled')},
           COUNT(CASE WHEN failures > 0 THEN 1 END) AS "failedOnce",
           COUNT(CASE WHEN failures > 0 AND status = 'completed' THEN 1 END) AS recovered,
           SUM(steps) AS steps, SUM(input_tokens) AS "inputTokens", SUM(output_tokens) AS "outputTokens",
           SUM(CASE WHEN ended_at > started_at THEN ended_at - started_at ELSE 0 END) AS "durationMs",
           SUM((SELECT SUM(cost_micros) FROM hf_model_calls c WHERE c.tenant = t.tenant AND c.run = t.run))
             AS "costMicros"
         FROM hf_run_totals t WHERE t.tenant = $1 AND t.counted_at >= $2 AND t.counted_at < $3 ${whose}`,
        [tenant, from, to, ...(subject === null ? [] : [subject])],
      )
      const of = (name: keyof TaskTotals) => Number(row?.[name] ?? 0)
      return {
        completed: of('completed'),
        partial: of('partial'),
        failed: of('failed'),
        cancelled: of('cancelled'),
        failedOnce: of('failedOnce'),
        recovered: of('recovered'),
        steps: of('steps'),
        inputTokens: of('inputTokens'),
        outputTokens: of('outputTokens'),
        durationMs: of('durationMs'),
        costMicros: of('costMicros'),
      }
    },
  }
}

function counted(status: 'completed' | 'partial' | 'failed' | 'cancelled'): string {
  return `COUNT(CASE WHEN status = '${status}' THEN 1 END) AS ${status}`
}
