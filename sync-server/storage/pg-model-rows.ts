import type {ModelCallName} from '../../runtime/protocol/model-call.ts'
import type {SqlQuery, SqlValue} from './sql.ts'
import type {ModelCallRef, ModelCallRow, ModelCallStatus, NumberedPart, PartChunk, Spent} from './token-store.ts'

export type CallRow = {
  tenant: string
  subject: string
  key: string
  session: string | null
  run: string | null
  step: string | null
  attempt: number | null
  try: number | null
  model: string
  request_hash: string
  status: ModelCallStatus
  lease_until: number
  started_at: number
  ended_at: number | null
  parts: number
  input_tokens: number
  output_tokens: number
  cost_micros: number
  estimated: number
}

export function callRow(row: CallRow): ModelCallRow {
  return {
    key: row.key,
    name: nameOf(row),
    model: JSON.parse(row.model),
    requestHash: row.request_hash,
    status: row.status,
    leaseUntil: Number(row.lease_until),
    startedAt: Number(row.started_at),
    endedAt: row.ended_at === null ? null : Number(row.ended_at),
    parts: Number(row.parts),
    spent: {
      inputTokens: Number(row.input_tokens),
      outputTokens: Number(row.output_tokens),
      costMicros: Number(row.cost_micros),
      estimated: Number(row.estimated) === 1,
    },
  }
}

/** The values were validated when the call was claimed. */
function nameOf({session, run, step, attempt, try: tries}: CallRow): ModelCallName | null {
  if (session === null) return null
  return {session, run, step, attempt: Number(attempt), try: Number(tries)} as ModelCallName
}

export function refValues({tenant, subject, key}: ModelCallRef): SqlValue[] {
  return [tenant, subject, key]
}

export function spentValues({inputTokens, outputTokens, costMicros, estimated}: Spent): SqlValue[] {
  return [inputTokens, outputTokens, costMicros, estimated ? 1 : 0]
}

/** Inserts all available parts as one row: many small rows would need more space than the text. */
export async function insertParts(tx: SqlQuery, ref: ModelCallRef, {first, parts}: PartChunk): Promise<void> {
  if (parts.length === 0) return
  await tx.query('INSERT INTO hf_model_parts (tenant, subject, key, first, body) VALUES ($1, $2, $3, $4, $5)', [
    ...refValues(ref),
    first,
    JSON.stringify(parts),
  ])
}

export function partsAfter(rows: readonly {first: number; body: string}[], after: number): NumberedPart[] {
  return rows.flatMap(({first, body}) =>
    (JSON.parse(body) as NumberedPart['part'][])
      .map((part, i) => ({n: Number(first) + i, part}))
      .filter(({n}) => n > after),
  )
}
