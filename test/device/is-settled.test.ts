import {expect, test} from 'vitest'
import {isSettled} from '../../runtime/device/is-settled.ts'
import type {Waiting} from '../../runtime/loop/run-loop.ts'
import type {Connection} from '../../runtime/protocol/session-view.ts'

const connections = ['live', 'connecting', 'cut', 'unreachable', 'unauthenticated', 'local_only'] as const
const all = [true, true, true, true, true, true]

/** Per wait, in the order of `connections`: is this an end here? */
const table: [Waiting['for'] | 'nothing', boolean[]][] = [
  ['nothing', all],
  ['approval', all],
  ['custody', all],
  ['version', all],
  ['operation', [false, false, true, true, true, true]],
  ['server', [false, false, true, true, true, true]],
]

const rows = table.flatMap(([what, settled]) =>
  connections.map((connection, i) => [what, connection, settled[i] ?? false] as const),
)

test.each(rows)(
  '[RUN-1] a loop that waits for %s while the connection is %s: settled %s',
  (what, connection, settled) => {
    const waiting = what === 'nothing' ? null : {for: what, why: ''}
    expect(isSettled({working: false, waiting}, connection satisfies Connection['state'])).toBe(settled)
    expect(isSettled({working: true, waiting}, connection)).toBe(false)
  },
)
