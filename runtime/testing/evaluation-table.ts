import type {EvaluationReport} from './evaluate.ts'

/**
 * A report as text: one line a class, and one for each case that failed.
 *
 * @example
 * console.log(evaluationTable(await evaluate(cases, {agent, model, tools})))
 */
export function evaluationTable({classes, results}: EvaluationReport): string {
  const rows = classes.map(row => [
    row.class,
    `${row.passed}/${row.total}`,
    String(row.steps),
    String(row.tokens),
    String(row.recovered),
  ])
  const table = [['class', 'passed', 'steps', 'tokens', 'recovered'], ...rows]
  const widths = [0, 1, 2, 3, 4].map(column => Math.max(...table.map(row => row[column]?.length ?? 0)))
  const lines = table.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const faults = results.flatMap(({name, fault}) => (fault === null ? [] : [`failed: ${name}: ${fault}`]))
  return [...lines, ...faults].join('\n')
}
