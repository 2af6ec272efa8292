import type {PurgeOrder} from '../protocol/erasure.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {DeviceStore, Projection, UnitOfWork} from '../storage/device-store.ts'

/**
 * The sessions that an order names; a whole subject is everything that this device has. What was done apart from an
 * erased session and kept as a branch is a copy of it that the server may never have seen. [CUS-4, RET-2]
 */
export async function sessionsToPurge(store: DeviceStore, order: PurgeOrder): Promise<SessionId[]> {
  if (order.whole) return (await store.sessions()).map(({id}) => id)
  // A branch in use has its own retention time, and the server names every session whose time has passed.
  if (order.why === 'retention') return order.sessions
  const sessions = new Set(order.sessions)
  for (const session of sessions) for (const branch of await keptBranchesOf(store, session)) sessions.add(branch)
  return [...sessions]
}

async function keptBranchesOf(store: DeviceStore, session: SessionId): Promise<SessionId[]> {
  return (await store.divergences(session)).flatMap(({resolution}) => resolution?.fork ?? [])
}

/** Every branch of these sessions, of their branches too, that is not to go itself. */
export async function branchesOf(store: DeviceStore, sessions: readonly SessionId[]): Promise<SessionId[]> {
  const records = await store.sessions()
  const family = new Set(sessions)
  for (let size = 0; size < family.size; ) {
    size = family.size
    for (const {id, current} of records) {
      if (current.forkedFrom && family.has(current.forkedFrom.session)) family.add(id)
    }
  }
  return [...family].filter(id => !sessions.includes(id))
}

/**
 * Deletes everything of these sessions and makes the documents of their branches again without what they inherited.
 * Resolves when no file of this device holds a byte of it. [RET-3]
 */
export async function purge(
  store: DeviceStore,
  order: PurgeOrder,
  sessions: readonly SessionId[],
  documents: Projection,
): Promise<void> {
  const {erasure, why, at, whole} = order
  await store.transaction(async unit => {
    for (const session of sessions) {
      await unit.eraseSession(session, {erasure, why, at})
      await foldBranches(unit, session, documents)
    }
    if (whole) await unit.eraseFacts()
  })
  await store.scrub()
}

async function foldBranches(unit: UnitOfWork, session: SessionId, documents: Projection): Promise<void> {
  for (const branch of await unit.forks(session)) {
    const edits = await unit.asOf(branch.session, Number.MAX_SAFE_INTEGER, ['document.updated'])
    await unit.dropDocuments(branch.session)
    await documents.apply(unit, branch.session, [...edits, ...(await unit.pending(branch.session))])
    await foldBranches(unit, branch.session, documents)
  }
}
