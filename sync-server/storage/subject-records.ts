import type {Json} from '../../runtime/protocol/json.ts'
import type {Owner} from '../principal.ts'
import type {Sql, SqlValue} from './sql.ts'

type Table = {
  layer: string
  name: string
  /** SQL condition that selects the subject's rows; `$2` is the subject. */
  where: string
  /** The primary key without the tenant. Rows are read in its order. */
  key: readonly string[]
  /** Columns that contain JSON as text. */
  json: readonly string[]
  /** Alternative source of the rows, and the number of rows per page. */
  from?: {select: string; rows: number}
}

const mySessions = 'session IN (SELECT id FROM hf_sessions WHERE tenant = $1 AND subject = $2)'

/** Every table with data of a subject. A test compares this list with the database catalogue. */
export const subjectTables: readonly Table[] = [
  {layer: 'sessions', name: 'hf_sessions', where: 'subject = $2', key: ['id'], json: ['agent', 'title', 'state']},
  {layer: 'events', name: 'hf_events', where: mySessions, key: ['session', 'seq'], json: ['body']},
  {
    layer: 'blobs',
    name: 'hf_blobs',
    where: mySessions,
    key: ['session', 'id'],
    json: [],
    // One row per page: blobs may be large. Bytes are encoded as base64, since JSON has no bytes.
    from: {
      select: `(SELECT tenant, session, id, size, named, at,
        TRANSLATE(ENCODE(bytes, 'base64'), CHR(10), '') AS bytes FROM hf_blobs)`,
      rows: 1,
    },
  },
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
    // The text of `endorsements` contains the name of each approver as a JSON string.
    where:
      '(requested_by = $2 OR decided_by = $2 OR POSITION(CAST(to_json(CAST($2 AS TEXT)) AS TEXT) IN endorsements) > 0)',
    key: ['id'],
    json: ['reason', 'shown', 'note', 'endorsements'],
  },
  {layer: 'calls', name: 'hf_calls', where: mySessions, key: ['id'], json: []},
  {
    layer: 'delegations',
    name: 'hf_delegations',
    where: '(from_subject = $2 OR to_subject = $2)',
    key: ['id'],
    json: ['reason'],
  },
  {layer: 'approver keys', name: 'hf_approver_keys', where: 'subject = $2', key: ['id'], json: ['label']},
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
  {layer: 'revocations', name: 'hf_revocations', where: 'subject = $2', key: ['subject', 'token'], json: []},
  {layer: 'purges', name: 'hf_purges', where: 'subject = $2', key: ['erasure', 'device'], json: []},
  {layer: 'model calls', name: 'hf_model_calls', where: 'subject = $2', key: ['subject', 'key'], json: ['model']},
  {
    layer: 'token streams',
    name: 'hf_model_parts',
    where: 'subject = $2',
    key: ['subject', 'key', 'first'],
    json: ['body'],
  },
  {layer: 'run totals', name: 'hf_run_totals', where: 'subject = $2', key: ['run'], json: []},
  {layer: 'memory', name: 'hf_memory', where: 'subject = $2', key: ['subject', 'id'], json: ['body']},
  {
    layer: 'memory sources',
    name: 'hf_memory_sources',
    where: 'subject = $2',
    key: ['subject', 'item', 'session'],
    json: [],
  },
  {
    layer: 'memory sources',
    name: 'hf_memory_settled',
    where: 'subject = $2',
    key: ['subject', 'event', 'key_hash'],
    json: [],
  },
  {
    layer: 'memory vectors',
    name: 'hf_memory_vectors',
    where: 'subject = $2',
    key: ['subject', 'item', 'embedder'],
    json: [],
  },
  {layer: 'memory cursors', name: 'hf_memory_subjects', where: 'subject = $2', key: ['subject'], json: []},
  {
    layer: 'published agents',
    name: 'hf_agent_versions',
    where: 'published_by = $2',
    key: ['name', 'version'],
    json: ['manifest'],
  },
  {layer: 'active agents', name: 'hf_active_versions', where: 'moved_by = $2', key: ['name'], json: []},
]

/** Rows per page. */
const pageRows = 200

export async function* subjectRecords(sql: Sql, owner: Owner): AsyncIterable<{layer: string; record: Json}> {
  for (const table of subjectTables) {
    for await (const record of rowsOf(sql, table, owner)) yield {layer: table.layer, record}
  }
}

async function* rowsOf(sql: Sql, table: Table, {tenant, subject}: Owner): AsyncIterable<Json> {
  const {name, where, key, json, from = {select: name, rows: pageRows}} = table
  let after: SqlValue[] | null = null
  for (;;) {
    const beyond: string = after ? `AND (${key.join(', ')}) > (${key.map((_, i) => `$${i + 4}`).join(', ')})` : ''
    const rows: {text: string}[] = await sql.query<{text: string}>(
      `SELECT CAST(row_to_json(t) AS TEXT) AS text FROM ${from.select} t
       WHERE tenant = $1 AND ${where} ${beyond} ORDER BY ${key.join(', ')} LIMIT $3`,
      [tenant, subject, from.rows, ...(after ?? [])],
    )
    for (const {text} of rows) {
      const row = JSON.parse(text) as Record<string, Json>
      after = key.map(column => row[column] as SqlValue)
      // A forgotten memory item has an empty body.
      for (const column of json) row[column] = row[column] === '' ? null : JSON.parse(row[column] as string)
      yield row
    }
    if (rows.length < from.rows) return
  }
}
