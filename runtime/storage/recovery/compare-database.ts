import type {PGlite} from '@electric-sql/pglite'
import type {SessionId} from '../../protocol/ids.ts'
import type {RecoveredSession} from '../../protocol/recovery.ts'
import type {DeviceStore, Projection} from '../device-store.ts'
import type {KeptEvent, OutboxState} from '../outbox/outbox-state.ts'
import {rows} from '../pglite-rows.ts'
import {putBackSession, statesOf, type Wanted} from './put-back.ts'
import type {Salvaged} from './salvage.ts'

export type Compared = {
  sessions: RecoveredSession[]
  restored: number
  refilling: number
  withoutBytes: number
  stale: Set<SessionId>
}
type Sources = {unsent: OutboxState; salvaged: Salvaged | null; projections: readonly Projection[]}

/** Restores, session by session, the events that the outbox or the previous database has and this one lacks. [LOG-9] */
export async function compareDatabase(
  db: PGlite,
  store: DeviceStore,
  {unsent, salvaged, projections}: Sources,
): Promise<Compared> {
  for (const {session, erasure, why, at} of salvaged?.erased ?? []) {
    await store.transaction(unit => unit.eraseSession(session, {erasure, why, at}))
  }
  const erased = new Set((await store.allErased()).map(({session}) => session))
  const states = await statesOf((query, params) => rows(db, query, params), [...unsent.events.keys()])
  const result: Compared = {sessions: [], restored: 0, refilling: 0, withoutBytes: 0, stale: new Set()}
  const missing = new Map<SessionId, KeptEvent[]>()
  for (const [id, kept] of unsent.events) {
    const {session} = kept.event
    const state = states.get(id)
    if (state ? state.status !== (kept.refusal ? 'rejected' : 'pending') : erased.has(session))
      result.stale.add(session)
    else if (!state) missing.set(session, [...(missing.get(session) ?? []), kept])
  }
  for (const [id, {status, session}] of states) {
    if (status !== 'accepted' && !unsent.events.has(id)) result.stale.add(session)
  }
  const all = new Set([...unsent.marks.keys(), ...missing.keys(), ...(salvaged?.confirmed.keys() ?? [])])
  for (const session of all) {
    if (erased.has(session)) continue
    const confirmed = salvaged?.confirmed.get(session) ?? []
    const mark = unsent.marks.get(session) ?? {head: 0, deviceSeq: 0}
    await putBack(
      store,
      {session, confirmed, missing: missing.get(session) ?? [], mark},
      {unsent, salvaged, projections},
      result,
    )
  }
  return result
}

async function putBack(store: DeviceStore, wanted: Wanted, sources: Sources, result: Compared): Promise<void> {
  const {session, confirmed, missing, mark} = wanted
  const record = await store.session(session)
  const head = record?.confirmed.head ?? 0
  let done = {restored: 0, withoutBytes: 0, head}
  const counts = record !== null && record.deviceSeq < mark.deviceSeq
  if (missing.length > 0 || confirmed.length > head || counts) {
    done = await putBackSession(store, wanted, {from: sources.unsent, projections: sources.projections})
    result.stale.add(session)
  }
  const refilling = Math.max(0, mark.head - done.head)
  if (done.restored + refilling === 0) return
  result.restored += done.restored
  result.refilling += refilling
  result.withoutBytes += done.withoutBytes
  const title = (await store.session(session))?.current.title ?? sources.salvaged?.titles.get(session) ?? null
  result.sessions.push({session, title, restored: done.restored, refilling, lost: done.withoutBytes})
}
