import type {Json} from '../../runtime/protocol/json.ts'
import type {Owner} from '../principal.ts'
import type {Sql, SqlValue} from './sql.ts'

type Table = {
  layer: string
  name: string
  /** What makes a row the subject's; `$2` is the subject. */
  where: string
  /** With the tenant the primary key; rows are read in its order. */
  key: readonly string[]
  /** Columns that hold JSON as text. */
  json: readonly string[]
}

const mySessions = 'session IN (SELECT id FROM hf_sessions WHERE tenant = $1 AND subject = $2)'

/** Every table that holds something about a subject; a test compares this list with the catalogue of the database. */
export const subjectTables: readonly Table[] = [
  {layer: 'sessions', name: 'hf_sessions', where: 'subject = $2', key: ['id'], json: ['agent', 'title', 'state']},
  {layer: 'events', name: 'hf_events', where: mySessions, key: ['session', 'seq'], json: ['body']},
  {layer: 'runs', name: 'hf_runs', where: mySessions, key: ['id'], json: []},
  {
    layer: 'operations',
    name: 'hf_operations',
    where: 'requested_by = $2',
    key: ['id'],
    json: ['tool', 'version', 'input', 'basis', 'outcome'],
  },
  {
    layer: 'approvals',
    name: 'hf_approvals',
    where: '(requested_by = $2 OR decided_by = $2)',
    key: ['id'],
    json: ['reason', 'shown', 'note'],
  },
  {layer: 'audit', name: 'hf_audit', where: '(subject = $2 OR about = $2)', key: ['id'], json: ['reason']},
  {
    layer: 'erasures',
    name: 'hf_erasures',
    where: '(subject = $2 OR requested_by = $2)',
    key: ['id'],
    json: ['sessions', 'layers'],
  },
  {layer: 'tombstones', name: 'hf_tombstones', where: 'subject = $2', key: ['session'], json: []},
  {layer: 'devices', name: 'hf_devices', where: 'subject = $2', key: ['subject', 'id'], json: []},
  {layer: 'purges', name: 'hf_purges', where: 'subject = $2', key: ['erasure', 'device'], json: []},
]

/** Rows that are in memory at a time. */
const pageRows = 200

export async function* subjectRecords(sql: Sql, owner: Owner): AsyncIterable<{layer: string; record: Json}> {
  for (const table of subjectTables) {
    for await (const record of rowsOf(sql, table, owner)) yield {layer: table.layer, record}
  }
}

async function* rowsOf(sql: Sql, table: Table, {tenant, subject}: Owner): AsyncIterable<Json> {
  const {name, where, key, json} = table
  let after: SqlValue[] | null = null
  for (;;) {
    const beyond: string = after ? `AND (${key.join(', ')}) > (${key.map((_, i) => `$${i + 4}`).join(', ')})` : ''
    const rows: {text: string}[] = await sql.query<{text: string}>(
      `SELECT CAST(row_to_json(t) AS TEXT) AS text FROM ${name} t
       WHERE tenant = $1 AND ${where} ${beyond} ORDER BY ${key.join(', ')} LIMIT $3`,
      [tenant, subject, pageRows, ...(after ?? [])],
    )
    for (const {text} of rows) {
      const row = JSON.parse(text) as Record<string, Json>
      after = key.map(column => row[column] as SqlValue)
      for (const column of json) row[column] = JSON.parse(row[column] as string)
      yield row
    }
    if (rows.length < pageRows) return
  }
}
