import {expect} from 'vitest'
import {openNodeDatabase} from '../../../../runtime/storage/pglite/open-node.ts'

export interface Tables {
  /** Every event that the server has, in the order of each session. */
  events: {session: string; seq: number; id: string; kind: string; data: Record<string, unknown>}[]
  operations: {id: string; status: string; orderId: string; cents: number}[]
  approvals: {status: string; decidedBy: string | null}[]
  /** Paid by this desk, in the order of payment; what the shop was seeded with is left out. */
  refunds: {operation: string; orderId: string; cents: number}[]
  audit: {action: string; reason: string}[]
  sessions: {id: string; head: number; subject: string}[]
}

/** Reads what the server keeps on its disk; nobody else may have the folder open. */
export async function readTables(folder: string): Promise<Tables> {
  const {db, close} = await openNodeDatabase({dataDir: folder})
  const rows = async <Row>(query: string) => (await db.query<Row>(query)).rows
  try {
    const events = await rows<{seq: number; body: string}>(
      'select seq::int as seq, body from hf_events order by session, seq',
    )
    const operations = await rows<{id: string; status: string; input: string}>(
      'select id, status, input from hf_operations order by proposed_at, id',
    )
    return {
      events: events.map(({seq, body}) => ({...JSON.parse(body), seq})),
      operations: operations.map(({id, status, input}) => {
        const {orderId, cents} = JSON.parse(input)
        return {id, status, orderId, cents}
      }),
      approvals: await rows('select status, decided_by as "decidedBy" from hf_approvals order by requested_at, id'),
      refunds: await rows(
        `select operation, order_id as "orderId", cents from shop.refunds
         where operation not like 'before-%' order by receipt`,
      ),
      audit: await rows('select action, reason from hf_audit order by at, id'),
      sessions: await rows('select id, head::int as head, subject from hf_sessions order by id'),
    }
  } finally {
    await close()
  }
}

/** What has to be so whatever happened: each event once, no gap, no call without its one result, no payment unaccounted for. */
export function expectSound({events, operations, refunds, sessions}: Tables): void {
  expect(new Set(events.map(event => event.id)).size).toBe(events.length)
  for (const {id, head} of sessions) {
    const seqs = events.filter(event => event.session === id).map(event => event.seq)
    expect(seqs).toEqual(Array.from({length: head}, (_, i) => i + 1))
  }
  const proposed = events.flatMap(event => (event.kind === 'model.replied' ? callsIn(event.data.content) : []))
  const returned = events.flatMap(event => (event.kind === 'tool.returned' ? [event.data.call] : []))
  expect([...returned].sort()).toEqual([...proposed].sort())
  const executed = operations.filter(operation => operation.status === 'executed').map(operation => operation.id)
  expect(refunds.map(refund => refund.operation).sort()).toEqual(executed.sort())
}

export function messagesIn({events}: Tables): unknown[] {
  return events.flatMap(event => (event.kind === 'message.posted' ? [event.data.text] : []))
}

function callsIn(content: unknown): string[] {
  const parts = content as {type: string; call?: string}[]
  return parts.flatMap(part => (part.type === 'call' && part.call ? [part.call] : []))
}
