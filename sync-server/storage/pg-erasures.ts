import type {DeviceId, ErasureId, OperationId, SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import {eraseApprover} from './erase-approver.ts'
import {eraseDecisions, lockSubject} from './erase-decisions.ts'
import {eraseRows} from './erase-rows.ts'
import type {
  Erasure,
  ErasureBook,
  ErasureOrder,
  ErasureRef,
  LayerCount,
  OrphanedEffect,
  SessionTarget,
  SubjectTarget,
} from './erasure-book.ts'
import {insertAudit} from './pg-audit.ts'
import {filesDone, filesWaiting} from './pg-erased-files.ts'
import {type Family, keptBranchesOf, lockFamily} from './pg-family.ts'
import {dropInherited} from './pg-inherited.ts'
import {completeIfDone, type ErasureRow, erasureRow, receipt} from './pg-receipts.ts'
import {jsonText} from './project-events.ts'
import type {Sql, SqlQuery} from './sql.ts'

export function pgErasures(sql: Sql, across: Sql): ErasureBook {
  return {
    begin: order => sql.transaction(tx => begin(tx, order)),
    finish: (ref, layers, at) => sql.transaction(tx => finish(tx, ref, layers, at)),
    receipt: ref => receipt(sql, ref),
    operations: async ({tenant, subject, session, sessions}) => {
      const rows = await sql.query<{id: string; session: string}>(
        `SELECT id, session FROM hf_operations WHERE tenant = $1 AND requested_by = $2 ORDER BY proposed_at, id`,
        [tenant, subject],
      )
      const erased = new Set<string>(sessions)
      return rows.flatMap(row => (session === null || erased.has(row.session) ? (row.id as OperationId) : []))
    },
    subjects: async ref => {
      const rows = await sql.query<{subject: string}>(
        'SELECT DISTINCT subject FROM hf_purges WHERE tenant = $1 AND erasure = $2 AND purged_at IS NULL',
        [ref.tenant, ref.erasure],
      )
      return rows.map(row => row.subject as SubjectId)
    },
    tombstone: async (owner, session) => {
      const [row] = await sql.query<{erasure: string}>(
        'SELECT erasure FROM hf_tombstones WHERE tenant = $1 AND session = $2 AND subject = $3',
        [owner.tenant, session, owner.subject],
      )
      return row ? (row.erasure as ErasureId) : null
    },
    settle: effect => sql.transaction(tx => settle(tx, effect)),
    unfinished: async limit => {
      const rows = await across.query<ErasureRow>(
        'SELECT * FROM hf_erasures WHERE erased_at IS NULL ORDER BY requested_at LIMIT $1',
        [limit],
      )
      return rows.map(toErasure)
    },
    filesWaiting: (before, limit) => filesWaiting(across, before, limit),
    filesDone: (refs, before, at) => filesDone(sql, refs, before, at),
  }
}

function toErasure(row: ErasureRow): Erasure {
  return {
    id: row.id as ErasureId,
    tenant: row.tenant as TenantId,
    subject: row.subject as SubjectId,
    session: row.session as SessionId | null,
    sessions: JSON.parse(row.sessions) as SessionId[],
    derived: Number(row.derived) === 1,
  }
}

async function begin(tx: SqlQuery, order: ErasureOrder): Promise<Erasure | null> {
  const {tenant, id, by, at} = order
  const target = 'subject' in order ? await wholeSubject(tx, tenant, order) : await oneSession(tx, tenant, order)
  if (!target) return null
  if ('earlier' in target) return target.earlier
  const {subject, session, sessions, derived, branches, copies} = target
  for (const each of sessions) {
    await tx.query('INSERT INTO hf_tombstones (tenant, session, subject, erasure, at) VALUES ($1, $2, $3, $4, $5)', [
      tenant,
      each,
      subject,
      id,
      at,
    ])
  }
  for (const branch of target.branches) await dropInherited(tx, tenant, branch)
  const devices = await devicesOf(tx, tenant, subject, sessions)
  const kept = branches.length === 0 ? null : `${branches.length} keep their own words; what they inherited is gone`
  const rows = await eraseRows(tx, tenant, sessions)
  const approver = session === null ? await eraseApprover(tx, {tenant, subject, at}) : []
  const decisions = session === null ? await eraseDecisions(tx, {tenant, subject}) : null
  const layers =
    decisions !== null
      ? [...rows, ...approver, decisions.layer]
      : [
          ...rows,
          {name: 'branches', removed: sessions.length - 1 - copies, kept},
          {name: 'work kept as a branch', removed: copies, kept: null},
        ]
  await tx.query(
    `INSERT INTO hf_erasures (tenant, id, subject, session, sessions, requested_by, derived, layers, requested_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [tenant, id, subject, session, jsonText(sessions), by, derived ? 1 : 0, jsonText(layers), at],
  )
  await waitFor(tx, {tenant, erasure: id}, subject, devices)
  for (const one of decisions?.sessions ?? []) {
    await waitFor(tx, {tenant, erasure: id}, one.subject, await devicesOf(tx, tenant, one.subject, [one.session]))
  }
  await insertAudit(tx, {
    tenant,
    subject: by ?? ('holdfast:retention' as SubjectId),
    action: session === null ? 'subject.erased' : 'session.erased',
    about: id,
    reason: '',
    at,
  })
  return {id, tenant, subject, session, sessions, derived}
}

/** Makes the receipt wait for the confirmation of these devices. */
async function waitFor(tx: SqlQuery, {tenant, erasure}: ErasureRef, subject: SubjectId, devices: Iterable<DeviceId>) {
  for (const device of devices) {
    await tx.query(
      'INSERT INTO hf_purges (tenant, erasure, device, subject) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
      [tenant, erasure, device, subject],
    )
  }
}

type Target =
  | {earlier: Erasure}
  | {
      subject: SubjectId
      session: SessionId | null
      sessions: SessionId[]
      derived: boolean
      /** Branches that are kept. */
      branches: SessionId[]
      /** Number of sessions erased because they are copies of the erased session. */
      copies: number
    }

async function oneSession(tx: SqlQuery, tenant: TenantId, order: SessionTarget): Promise<Target | null> {
  const {session, of} = order
  const [row] = await tx.query<{subject: string}>('SELECT subject FROM hf_sessions WHERE tenant = $1 AND id = $2', [
    tenant,
    session,
  ])
  if (!row) return earlierErasure(tx, tenant, order)
  const subject = row.subject as SubjectId
  if (of !== null && of !== subject) return null
  const family = await lockFamily(tx, tenant, subject)
  const found = family.find(({id}) => id === session)
  // Another transaction erased the session or added to it before the lock was taken.
  if (!found) return earlierErasure(tx, tenant, order)
  if (order.idleSince !== undefined && found.updatedAt >= order.idleSince) return null
  return {subject, session, derived: order.derived, ...(await scopeOf(tx, tenant, family, order))}
}

/**
 * A branch with content of its own is kept unless requested. A branch that is a copy of the erased session is erased
 * too. [RET-2]
 */
async function scopeOf(tx: SqlQuery, tenant: TenantId, family: Family, {session, branches, idleSince}: SessionTarget) {
  const all = branchesOf(family, session)
  const copies = (await keptBranchesOf(tx, tenant, family, session)).filter(
    // A copy still in use has not reached the end of its retention.
    ({updatedAt}) => idleSince === undefined || updatedAt < idleSince,
  )
  const erased = branches === 'erase' ? all : copies.map(({id}) => id)
  return {
    sessions: [session, ...erased],
    branches: all.filter(id => !erased.includes(id)),
    copies: copies.length,
  }
}

async function earlierErasure(tx: SqlQuery, tenant: TenantId, {session, of}: SessionTarget): Promise<Target | null> {
  const [row] = await tx.query<{erasure: string; subject: string}>(
    'SELECT erasure, subject FROM hf_tombstones WHERE tenant = $1 AND session = $2',
    [tenant, session],
  )
  if (!row || (of !== null && of !== row.subject)) return null
  const earlier = await erasureRow(tx, {tenant, erasure: row.erasure as ErasureId})
  return earlier && {earlier: toErasure(earlier)}
}

async function wholeSubject(tx: SqlQuery, tenant: TenantId, {subject}: SubjectTarget): Promise<Target> {
  await lockSubject(tx, {tenant, subject})
  const family = await lockFamily(tx, tenant, subject)
  return {subject, session: null, sessions: family.map(({id}) => id), derived: true, branches: [], copies: 0}
}

function branchesOf(family: Family, session: SessionId): SessionId[] {
  const own = family.filter(({parent}) => parent === session).map(({id}) => id)
  return own.flatMap(id => [id, ...branchesOf(family, id)])
}

/** Returns the devices that fetched copies, and those that wrote in one of the sessions without having fetched any. */
async function devicesOf(
  tx: SqlQuery,
  tenant: TenantId,
  subject: SubjectId,
  sessions: readonly SessionId[],
): Promise<Set<DeviceId>> {
  const known = await tx.query<{id: string}>('SELECT id FROM hf_devices WHERE tenant = $1 AND subject = $2', [
    tenant,
    subject,
  ])
  const devices = new Set(known.map(row => row.id as DeviceId))
  for (const session of sessions) {
    const wrote = await tx.query<{device: string}>(
      'SELECT DISTINCT device FROM hf_events WHERE tenant = $1 AND session = $2 AND device IS NOT NULL',
      [tenant, session],
    )
    for (const row of wrote) devices.add(row.device as DeviceId)
  }
  return devices
}

async function finish(tx: SqlQuery, ref: ErasureRef, layers: readonly LayerCount[], at: number): Promise<void> {
  const row = await erasureRow(tx, ref)
  if (row?.erased_at !== null) return
  const all = addCounts(JSON.parse(row.layers) as LayerCount[], layers)
  await tx.query(
    `UPDATE hf_erasures SET layers = $3, erased_at = CAST($4 AS BIGINT),
       files_from = CASE WHEN files_from IS NULL THEN NULL ELSE CAST($4 AS BIGINT) END
     WHERE tenant = $1 AND id = $2`,
    [ref.tenant, ref.erasure, jsonText(all), at],
  )
  await completeIfDone(tx, ref, at)
}

/** Adds up the counts of a layer that was erased again. */
function addCounts(before: readonly LayerCount[], more: readonly LayerCount[]): LayerCount[] {
  const counts = new Map(before.map(count => [count.name, count]))
  for (const count of more) {
    counts.set(count.name, {...count, removed: count.removed + (counts.get(count.name)?.removed ?? 0)})
  }
  return [...counts.values()]
}

async function settle(tx: SqlQuery, {tenant, operation, status, outcome, at}: OrphanedEffect): Promise<boolean> {
  const done = status !== 'uncertain'
  const [row] = await tx.query<{session: string}>(
    `UPDATE hf_operations SET status = $3, outcome = $4, updated_at = $5
       ${done ? `, input = 'null', basis = '{}'` : ''}
     WHERE tenant = $1 AND id = $2 AND status IN ('started', 'uncertain')
       AND session IN (SELECT session FROM hf_tombstones WHERE tenant = $1) RETURNING session`,
    [tenant, operation, status, jsonText(status === 'executed' ? outcome : null), at],
  )
  if (!row) return false
  const [stone] = await tx.query<{erasure: string}>(
    'SELECT erasure FROM hf_tombstones WHERE tenant = $1 AND session = $2',
    [tenant, row.session],
  )
  // The files contained the input until now, and the effect may have written to other layers.
  if (stone && done) {
    await tx.query(
      `UPDATE hf_erasures SET erased_at = NULL, files_at = NULL, files_from = $3, completed_at = NULL
       WHERE tenant = $1 AND id = $2`,
      [tenant, stone.erasure, at],
    )
  }
  return true
}
