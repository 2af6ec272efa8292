import type {Transaction} from '@electric-sql/pglite'
import type {EventId} from '../protocol/ids.ts'
import {wellFormed} from '../protocol/text.ts'
import type {Durability, DurableEvent} from '../protocol/transcript.ts'
import {readStored} from './read-stored.ts'

export type Sql = Pick<Transaction, 'query'>

export async function rows<Row>(sql: Sql, query: string, params: unknown[] = []): Promise<Row[]> {
  return (await sql.query<Row>(query, params)).rows
}

/** For columns that hold a text as it is, outside of JSON: Postgres takes no NUL there, and no half of a character. [LOG-5] */
export function plainText(text: string): string {
  return wellFormed(text.replaceAll('\0', ' '))
}

export type EventRow = {status: string; place: number; body: string; reason: string | null; divergence: string | null}
export const selectEvent = 'select status, place, body, reason, divergence from holdfast_events'

export function toDurable(row: EventRow): DurableEvent {
  return {event: readStored(JSON.parse(row.body)), durability: durabilityOf(row)}
}

function durabilityOf(row: EventRow): Durability {
  if (row.status === 'accepted') return {status: 'server', seq: Number(row.place)}
  if (row.status === 'rejected') {
    const divergence = row.divergence as EventId | null
    return {status: 'rejected', reason: row.reason ?? '', ...(divergence && {divergence})}
  }
  return {status: 'device'}
}
