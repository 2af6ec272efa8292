import {fromBase64} from '../../protocol/base64.ts'
import {HoldfastError} from '../../protocol/errors.ts'
import type {LoggedEvent} from '../../protocol/event.ts'
import {evolve} from '../../protocol/evolve.ts'
import type {EventId, SessionId} from '../../protocol/ids.ts'
import {initialSession} from '../../protocol/session.ts'
import type {DeviceStore, Projection, SessionRecord, UnitOfWork} from '../device-store.ts'
import {foldPending} from '../fold-log.ts'
import {messageExcerpt} from '../message-excerpt.ts'
import type {KeptEvent, Mark, OutboxState} from '../outbox/outbox-state.ts'
import {readStored} from '../read-stored.ts'

/** The minimum content of a restored session. */
export type Wanted = {
  session: SessionId
  /** Known confirmed events: a prefix of the log without gaps. */
  confirmed: readonly LoggedEvent[]
  /** Events that both the server and the database lack. */
  missing: readonly KeptEvent[]
  mark: Mark
}

export type PutBack = {
  restored: number
  /** Number of events whose blobs are lost. */
  withoutBytes: number
  head: number
}

/**
 * Restores the missing events of one session in one transaction. Events keep their ids and their order, and are folded
 * as in normal operation. The device sequence continues after the highest number ever used. [LOG-2, LOG-9]
 */
export async function putBackSession(
  store: DeviceStore,
  {session, confirmed, missing, mark}: Wanted,
  {from, projections}: {from: OutboxState; projections: readonly Projection[]},
): Promise<PutBack> {
  const before = (await store.session(session)) ?? emptyRecord(session)
  const fresh = confirmed.filter(({seq}) => (seq ?? 0) > before.confirmed.head)
  const ordered = missing.toSorted((a, b) => (a.event.deviceSeq ?? 0) - (b.event.deviceSeq ?? 0))
  return store.transaction(async unit => {
    const stored: KeptEvent[] = []
    for (const blob of from.blobs.values()) {
      if (blob.session !== session) continue
      await unit.saveBlob(session, {id: blob.id, bytes: fromBase64(blob.bytes), state: 'unsent'})
    }
    await unit.confirm(fresh)
    for (const kept of ordered) if (await appended(unit, readStored(kept.event), kept.head)) stored.push(kept)
    const events = stored.map(({event}) => readStored(event))
    await refuse(unit, session, stored)
    for (const [id, resolution] of from.resolutions) await unit.resolve(id, resolution)
    for (const projection of projections) await projection.apply(unit, session, [...fresh, ...events])
    const next = await folded(unit, before, fresh, events, mark)
    await unit.save(next)
    return {restored: stored.length, withoutBytes: ordered.length - stored.length, head: next.confirmed.head}
  })
}

async function folded(
  unit: UnitOfWork,
  before: SessionRecord,
  fresh: readonly LoggedEvent[],
  events: readonly LoggedEvent[],
  mark: Mark,
): Promise<SessionRecord> {
  const confirmed = fresh.reduce(evolve, before.confirmed)
  const said = [...fresh, ...events].findLast(event => event.kind === 'message.posted' && !('unreadable' in event))
  return {
    ...before,
    confirmed,
    current: foldPending(confirmed, await unit.pending(before.id)),
    deviceSeq: Math.max(before.deviceSeq, mark.deviceSeq, ...events.map(({deviceSeq}) => deviceSeq ?? 0)),
    excerpt: said ? messageExcerpt(said.data) : before.excerpt,
    updatedAt: Math.max(before.updatedAt, ...[...fresh, ...events].slice(-1).map(({at}) => at)),
  }
}

/** Appends an event. Returns false if the store refuses it because its blob is lost. */
async function appended(unit: UnitOfWork, event: LoggedEvent, head: number): Promise<boolean> {
  try {
    await unit.append([event], head)
    return true
  } catch (error) {
    if (HoldfastError.is(error, 'bad_input')) return false
    throw error
  }
}

async function refuse(unit: UnitOfWork, session: SessionId, events: readonly KeptEvent[]): Promise<void> {
  for (const {event, refusal} of events) {
    if (!refusal) continue
    const {reason, head, divergence} = refusal
    await unit.reject(event.id, reason, head)
    if (!divergence) continue
    await unit.sql('update holdfast_events set divergence = $2 where id = $1', [event.id, divergence.id])
    await unit.sql(
      'insert into holdfast_divergences (id, session, base) values ($1, $2, $3) on conflict (id) do nothing',
      [divergence.id, session, divergence.base],
    )
  }
}

function emptyRecord(id: SessionId): SessionRecord {
  return {id, confirmed: initialSession, current: initialSession, deviceSeq: 0, excerpt: '', updatedAt: 0}
}

/** Returns the status of all unsent events in the database, and of those of `ids` that it has. */
export async function statesOf(
  sql: (query: string, params: unknown[]) => Promise<{id: string; status: string; session: string}[]>,
  ids: readonly EventId[],
): Promise<Map<EventId, {status: string; session: SessionId}>> {
  const unsent = await sql(`select id, status, session from holdfast_events where status <> 'accepted'`, [])
  const found = new Map(unsent.map(({id, ...row}) => [id, row]))
  const others = ids.filter(id => !found.has(id))
  const rest =
    others.length > 0
      ? await sql('select id, status, session from holdfast_events where id = any($1::text[])', [others])
      : []
  return new Map(
    [...unsent, ...rest].map(({id, status, session}) => [id as EventId, {status, session: session as SessionId}]),
  )
}
