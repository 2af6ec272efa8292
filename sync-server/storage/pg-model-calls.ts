import type {SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {ModelFailure} from '../../runtime/protocol/model-call.ts'
import {clockToleranceMs} from '../clock.ts'
import {type CallRow, callRow, insertParts, refValues, spentValues} from './pg-model-rows.ts'
import {placeholders, type Sql, type SqlQuery} from './sql.ts'
import type {
  CallEnd,
  Exhausted,
  ModelCallBook,
  ModelCallRef,
  ModelUsage,
  NewModelCall,
  PartChunk,
  SpendingLimit,
} from './token-store.ts'

export function pgModelCalls(sql: Sql, across: Sql): ModelCallBook {
  return {
    claim: (call, limits) =>
      sql.transaction(async tx => {
        if (limits.length > 0) await lockTenant(tx, call.ref.tenant)
        const taken = await find(tx, call.ref)
        if (taken) return {status: 'taken', call: callRow(taken)}
        const limit = await exhausted(tx, call, limits)
        if (limit) return {status: 'exhausted', limit}
        if (await insert(tx, call)) return {status: 'won'}
        // The insert waited for the process that claimed first, so its row is committed now.
        const winner = await find(tx, call.ref)
        if (!winner) throw new Error('a model call was neither inserted nor found')
        return {status: 'taken', call: callRow(winner)}
      }),
    settle: (ref, owner, end, last) => sql.transaction(tx => settle(tx, ref, owner, end, last)),
    expire: (now, limit) => expire(sql, across, now, limit),
    get: async ref => {
      const row = await find(sql, ref)
      return row ? callRow(row) : null
    },
    ofRun: async ({tenant, subject}, run) => {
      const rows = await sql.query<CallRow>(
        `SELECT * FROM hf_model_calls WHERE tenant = $1 AND subject = $2 AND run = $3
         ORDER BY started_at, attempt, try, key`,
        [tenant, subject, run],
      )
      return rows.map(callRow)
    },
    totals: async ({tenant, subject, from, to}) => {
      const rows = await sql.query<UsageRow>(
        `SELECT model, COUNT(*) AS calls, SUM(estimated) AS estimated, SUM(input_tokens) AS input_tokens,
           SUM(output_tokens) AS output_tokens, SUM(cost_micros) AS cost_micros
         FROM hf_model_calls WHERE tenant = $1 AND started_at >= $2 AND started_at < $3
           ${subject === null ? '' : 'AND subject = $4'}
         GROUP BY model ORDER BY model`,
        [tenant, from, to, ...(subject === null ? [] : [subject])],
      )
      return rows.map(usageOf)
    },
  }
}

async function find(sql: SqlQuery, ref: ModelCallRef): Promise<CallRow | null> {
  const [row] = await sql.query<CallRow>(
    'SELECT * FROM hf_model_calls WHERE tenant = $1 AND subject = $2 AND key = $3',
    refValues(ref),
  )
  return row ?? null
}

/** Serialises the claims of a tenant, so that concurrent claims cannot exceed its budget. */
async function lockTenant(tx: SqlQuery, tenant: TenantId): Promise<void> {
  await tx.query('INSERT INTO hf_model_tenants (tenant) VALUES ($1) ON CONFLICT DO NOTHING', [tenant])
  await tx.query('SELECT tenant FROM hf_model_tenants WHERE tenant = $1 FOR UPDATE', [tenant])
}

async function exhausted(
  tx: SqlQuery,
  {ref, at, spent}: NewModelCall,
  limits: readonly SpendingLimit[],
): Promise<Exhausted | null> {
  for (const limit of limits) {
    const [row] = await tx.query<{tokens: number | null; cost: number | null; first: number | null}>(
      `SELECT SUM(input_tokens + output_tokens) AS tokens, SUM(cost_micros) AS cost, MIN(started_at) AS first
       FROM hf_model_calls WHERE tenant = $1 AND started_at > $2 AND started_at <= $3`,
      // Calls dated in the future by a clock that was ahead count only when that time is reached.
      [ref.tenant, at - limit.windowMs, at + clockToleranceMs],
    )
    const usedTokens = Number(row?.tokens ?? 0)
    const usedCostMicros = Number(row?.cost ?? 0)
    const over =
      (limit.tokens !== null && usedTokens + spent.inputTokens > limit.tokens) ||
      (limit.costMicros !== null && usedCostMicros + spent.costMicros > limit.costMicros)
    if (!over) continue
    const retryAfterMs = Math.max(0, Number(row?.first ?? at) + limit.windowMs - at)
    return {...limit, usedTokens, usedCostMicros, retryAfterMs}
  }
  return null
}

async function insert(tx: SqlQuery, call: NewModelCall): Promise<boolean> {
  const {ref, name, model, requestHash, owner, leaseUntil, at, spent} = call
  const made = await tx.query(
    `INSERT INTO hf_model_calls (tenant, subject, key, session, run, step, attempt, try, model, request_hash, owner,
       status, lease_until, followed_until, started_at, parts, input_tokens, output_tokens, cost_micros, estimated)
     VALUES (${placeholders(11)}, 'open', $12, 0, $13, 0, $14, $15, $16, $17) ON CONFLICT DO NOTHING RETURNING key`,
    [
      ...refValues(ref),
      ...(name ? [name.session, name.run, name.step, name.attempt, name.try] : [null, null, null, null, null]),
      JSON.stringify(model),
      requestHash,
      owner,
      leaseUntil,
      at,
      ...spentValues(spent),
    ],
  )
  return made.length > 0
}

async function settle(
  tx: SqlQuery,
  ref: ModelCallRef,
  owner: string,
  {status, spent, at}: CallEnd,
  last: PartChunk,
): Promise<boolean> {
  const ended = await tx.query(
    `UPDATE hf_model_calls SET status = $5, ended_at = $6, parts = $7, input_tokens = $8, output_tokens = $9,
       cost_micros = $10, estimated = $11
     WHERE tenant = $1 AND subject = $2 AND key = $3 AND owner = $4 AND status = 'open' RETURNING key`,
    [...refValues(ref), owner, status, at, last.first - 1 + last.parts.length, ...spentValues(spent)],
  )
  if (ended.length === 0) return false
  await insertParts(tx, ref, last)
  return true
}

const lost: ModelFailure = {
  message: 'The server stopped in the middle of this generation; what it had produced is kept and counted.',
  retryable: true,
  reason: 'lost',
}

async function expire(sql: Sql, across: Sql, now: number, limit: number): Promise<number> {
  const due = await across.query<{tenant: TenantId; subject: SubjectId; key: string}>(
    `SELECT tenant, subject, key FROM hf_model_calls WHERE status = 'open' AND lease_until < $1
     ORDER BY lease_until LIMIT $2`,
    [now, limit],
  )
  for (const ref of due) {
    await sql.transaction(async tx => {
      const [row] = await tx.query<{parts: number}>(
        `UPDATE hf_model_calls SET status = 'lost', ended_at = $5, parts = parts + 1
         WHERE tenant = $1 AND subject = $2 AND key = $3 AND status = 'open' AND lease_until < $4 RETURNING parts`,
        [...refValues(ref), now, now],
      )
      if (row) await insertParts(tx, ref, {first: Number(row.parts), parts: [{type: 'error', error: lost}]})
    })
  }
  return due.length
}

type UsageRow = {
  model: string
  calls: number
  estimated: number
  input_tokens: number
  output_tokens: number
  cost_micros: number
}

function usageOf(row: UsageRow): ModelUsage {
  return {
    model: JSON.parse(row.model),
    calls: Number(row.calls),
    estimated: Number(row.estimated),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    costMicros: Number(row.cost_micros),
  }
}
