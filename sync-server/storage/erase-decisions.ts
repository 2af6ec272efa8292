import {
  type Cleaned,
  type DecisionEvent,
  decisionKinds,
  erasedWords,
  replaceWords,
  withoutWords,
} from '../../runtime/protocol/decision-words.ts'
import type {Envelope} from '../../runtime/protocol/event.ts'
import type {EventId, OperationId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {LayerCount} from './erasure-book.ts'
import {jsonText} from './project-events.ts'
import type {SqlQuery} from './sql.ts'

type Who = {tenant: TenantId; subject: SubjectId}
type Found = Cleaned & {session: SessionId; id: EventId; event: Envelope}

const kept = 'who decided what and when; what a model or another person repeated of it'

/** The layer of the receipt, and the sessions that contained the text. */
export type ErasedDecisions = {layer: LayerCount; sessions: readonly {session: SessionId; subject: SubjectId}[]}

/**
 * Erases a subject's text on operations of other subjects: notes of approvals and settlements. They are stored in the
 * log and state of the session, in ledger and approvals, in tool results, and in queued webhook messages. [RET-2]
 */
export async function eraseDecisions(tx: SqlQuery, who: Who): Promise<ErasedDecisions> {
  const sessions = await lockDecided(tx, who)
  const found = await decisionsOf(tx, who)
  for (const each of found) {
    await rewriteEvent(tx, who, each)
    await rewriteWebhooks(tx, who, each)
    if (each.outcome === undefined) continue
    await rewriteOutcome(tx, who, {...each, outcome: each.outcome})
    await rewriteResults(tx, who, each)
  }
  const approvals = await rewriteApprovals(tx, who)
  const layer = {name: 'decisions on operations of others', removed: Math.max(found.length, approvals), kept}
  const heard = new Set(found.map(({session}) => session))
  return {layer, sessions: sessions.filter(({session}) => heard.has(session))}
}

const ofDecisions = `tenant = $1 AND kind IN (${decisionKinds.map(kind => `'${kind}'`).join(', ')})`

/** Sessions of any subject in which this subject ($2 as JSON) decided something. */
export const decidedSessions = `SELECT session FROM hf_events WHERE ${ofDecisions} AND POSITION($2 IN body) > 0`

/**
 * Locks the sessions of a subject and those in which it decided, ordered by id. With two separate locking steps, the
 * concurrent erasures of two subjects that decide for each other would deadlock. [RET-2]
 */
export async function lockSubject(tx: SqlQuery, {tenant, subject}: Who): Promise<void> {
  await tx.query(
    `SELECT id FROM hf_sessions WHERE tenant = $1 AND (subject = $3 OR id IN (${decidedSessions}))
     ORDER BY id FOR UPDATE`,
    [tenant, jsonText(subject), subject],
  )
}

/** Locks the sessions, so that a waiting append reads the state without the text. */
async function lockDecided(tx: SqlQuery, {tenant, subject}: Who) {
  const rows = await tx.query<{id: string; subject: string}>(
    `SELECT id, subject FROM hf_sessions WHERE tenant = $1 AND id IN (${decidedSessions}) ORDER BY id FOR UPDATE`,
    [tenant, jsonText(subject)],
  )
  return rows.map(row => ({session: row.id as SessionId, subject: row.subject as SubjectId}))
}

async function decisionsOf(tx: SqlQuery, {tenant, subject}: Who): Promise<Found[]> {
  const rows = await tx.query<{session: string; id: string; body: string}>(
    `SELECT session, id, body FROM hf_events WHERE ${ofDecisions} AND POSITION($2 IN body) > 0 ORDER BY session, seq`,
    [tenant, jsonText(subject)],
  )
  return rows.flatMap(row => {
    const event = JSON.parse(row.body) as Envelope
    const cleaned = withoutWords(event as unknown as DecisionEvent, subject)
    return cleaned ? [{...cleaned, session: row.session as SessionId, id: row.id as EventId, event}] : []
  })
}

/** The hash stays that of the original event, so that a second delivery is recognised. [LOG-3] */
async function rewriteEvent(tx: SqlQuery, {tenant}: Who, {session, id, event, data}: Found): Promise<void> {
  await writeBody(tx, tenant, session, id, {...event, data: data as Envelope['data']})
}

async function writeBody(tx: SqlQuery, tenant: TenantId, session: string, id: string, event: Envelope): Promise<void> {
  await tx.query('UPDATE hf_events SET body = $4 WHERE tenant = $1 AND session = $2 AND id = $3', [
    tenant,
    session,
    id,
    jsonText(event),
  ])
}

async function rewriteWebhooks(tx: SqlQuery, {tenant}: Who, {id, words}: Found): Promise<void> {
  const rows = await tx.query<{key: string; body: string}>(
    `SELECT key, body FROM hf_due WHERE tenant = $1 AND name = 'webhook' AND POSITION($2 IN key) = 1`,
    [tenant, `${id} `],
  )
  for (const row of rows) {
    const message = JSON.parse(row.body) as {body: string}
    const body = jsonText(replaceWords(JSON.parse(message.body), words))
    await tx.query(`UPDATE hf_due SET body = $3 WHERE tenant = $1 AND name = 'webhook' AND key = $2`, [
      tenant,
      row.key,
      jsonText({...message, body}),
    ])
  }
}

type Ended = {session: SessionId; operation: OperationId; outcome: Json}

async function rewriteOutcome(tx: SqlQuery, {tenant}: Who, {session, operation, outcome}: Ended): Promise<void> {
  await tx.query('UPDATE hf_operations SET outcome = $3 WHERE tenant = $1 AND id = $2', [
    tenant,
    operation,
    jsonText(outcome),
  ])
  const [row] = await tx.query<{state: string}>('SELECT state FROM hf_sessions WHERE tenant = $1 AND id = $2', [
    tenant,
    session,
  ])
  if (!row) return
  const state = JSON.parse(row.state) as {operations?: {id: string; outcome: Json}[]}
  if (!Array.isArray(state.operations)) return
  const operations = state.operations.map(each => (each.id === operation ? {...each, outcome} : each))
  await tx.query('UPDATE hf_sessions SET state = $3 WHERE tenant = $1 AND id = $2', [
    tenant,
    session,
    jsonText({...state, operations}),
  ])
}

/** Rewrites the tool results of the operation, in the session and in the copies of its branches. */
async function rewriteResults(tx: SqlQuery, {tenant}: Who, {operation, words}: Found): Promise<void> {
  const [row] = await tx.query<{call: string; requested_by: string}>(
    'SELECT call, requested_by FROM hf_operations WHERE tenant = $1 AND id = $2',
    [tenant, operation],
  )
  if (!row) return
  const results = await tx.query<{session: string; id: string; body: string}>(
    `SELECT session, id, body FROM hf_events WHERE tenant = $1 AND kind = 'tool.returned' AND POSITION($3 IN body) > 0
       AND session IN (SELECT id FROM hf_sessions WHERE tenant = $1 AND subject = $2)`,
    [tenant, row.requested_by, jsonText(row.call)],
  )
  for (const result of results) {
    const event = JSON.parse(result.body) as Envelope
    const data = replaceWords(event.data as Json, words) as Envelope['data']
    await writeBody(tx, tenant, result.session, result.id, {...event, data})
  }
}

type Endorsed = {by: string; note: string | null}

async function rewriteApprovals(tx: SqlQuery, {tenant, subject}: Who): Promise<number> {
  const rows = await tx.query<{id: string; decided_by: string | null; note: string; endorsements: string}>(
    `SELECT id, decided_by, note, endorsements FROM hf_approvals
     WHERE tenant = $1 AND (decided_by = $2 OR POSITION($3 IN endorsements) > 0) ORDER BY id FOR UPDATE`,
    [tenant, subject, jsonText(subject)],
  )
  let rewritten = 0
  for (const row of rows) {
    const said = JSON.parse(row.endorsements) as Endorsed[]
    const hasWords = (note: string | null) => note !== null && note !== '' && note !== erasedWords
    const endorsements = said.map(one => (one.by === subject && hasWords(one.note) ? {...one, note: erasedWords} : one))
    const decided = row.decided_by === subject && hasWords(JSON.parse(row.note))
    const next = [decided ? jsonText(erasedWords) : row.note, jsonText(endorsements)]
    if (next[0] === row.note && next[1] === row.endorsements) continue
    await tx.query('UPDATE hf_approvals SET note = $3, endorsements = $4 WHERE tenant = $1 AND id = $2', [
      tenant,
      row.id,
      ...next,
    ])
    rewritten += 1
  }
  return rewritten
}
