import {readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {expect, test} from 'vitest'
import {memoryOwner, memoryTransitions} from '../../runtime/protocol/memory.ts'
import {operationTransitions} from '../../runtime/protocol/operation.ts'
import {runTransitions} from '../../runtime/protocol/run.ts'
import {sessionTransitions} from '../../runtime/protocol/session-transitions.ts'

const specPath = join(import.meta.dirname, '../../runtime/protocol/SPEC.md')
const [opens, closes] = ['<!-- transitions: begin -->', '<!-- transitions: end -->']

/** The tables of the code, written out as the section of SPEC.md that shows them. */
function section(): string {
  const sessions = Object.entries(sessionTransitions).map(
    ([kind, {from, owner, to}]) => [kind, owner, from, to] as const,
  )
  const runs = Object.entries(runTransitions).map(([kind, {from, owner, to}]) => [kind, owner, from, to] as const)
  const operations = Object.entries(operationTransitions).map(([kind, from]) => [kind, ownerOf(kind), from] as const)
  const memories = Object.entries(memoryTransitions).map(
    ([name, from]) => [name, memoryOwner(name as keyof typeof memoryTransitions), from] as const,
  )
  return [
    opens,
    '',
    ...table([['event of a session', 'owner', 'legal from', 'leads to'], ...sessions.map(rowOf)]),
    '',
    ...table([['event of a run', 'owner', 'legal from', 'leads to'], ...runs.map(rowOf)]),
    '',
    ...table([['event of an operation', 'owner', 'legal from'], ...operations.map(rowOf)]),
    '',
    ...table([['command to a memory', 'owner', 'legal from'], ...memories.map(rowOf)]),
    '',
    closes,
  ].join('\n')
}

function rowOf([kind, owner, ...statuses]: readonly [string, string, ...(readonly string[])[]]): string[] {
  return [`\`${kind}\``, owner, ...statuses.map(each => each.join(', '))]
}

/** Aligned as the formatter would, or the two would undo each other's work. */
function table([head = [], ...rows]: string[][]): string[] {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map(row => row[column]?.length ?? 0)))
  const line = (cells: string[], fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0, fill)).join(' | ')} |`
  return [
    line(head),
    line(
      head.map(() => ''),
      '-',
    ),
    ...rows.map(row => line(row)),
  ]
}

function ownerOf(kind: string): string {
  return kind.startsWith('approval.') ? 'approval service' : 'operation service'
}

/** `HOLDFAST_UPDATE_SPEC=1` writes the section instead of comparing it. */
test('[RUN-1] the transition tables in SPEC.md are those of the code', () => {
  const spec = readFileSync(specPath, 'utf8')
  const start = spec.indexOf(opens)
  const end = spec.indexOf(closes) + closes.length
  expect(start, `SPEC.md holds ${opens} … ${closes}`).toBeGreaterThan(-1)
  const current = spec.slice(0, start) + section() + spec.slice(end)
  if (process.env.HOLDFAST_UPDATE_SPEC) writeFileSync(specPath, current)
  else expect(spec, 'run this test with HOLDFAST_UPDATE_SPEC=1').toBe(current)
})
