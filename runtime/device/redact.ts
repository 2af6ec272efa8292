import {type Said, saidBy, sayingKinds} from '../protocol/decision-words.ts'
import type {RedactionOrder} from '../protocol/erasure.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {branchesOf} from './purge.ts'

/**
 * Removes the words of an erased person from this device: from the sessions of the order and from results that were
 * copied into their branches. The words are found in the sessions themselves, so those are rewritten last: after a crash
 * the same order finds them again. Resolves when no file of this device holds the words. [RET-2, RET-3]
 */
export async function redact(
  store: DeviceStore,
  order: RedactionOrder,
  open: (session: SessionId) => Promise<Pick<SessionLog, 'beginRedaction' | 'dropWords' | 'erased'>>,
): Promise<void> {
  const here = new Set((await store.sessions()).map(({id}) => id))
  const sessions = order.sessions.filter(id => here.has(id))
  const branches = await branchesOf(store, sessions)
  // Also of sessions that are not here yet: their first page may be on its way.
  for (const session of [...branches, ...order.sessions]) await (await open(session)).beginRedaction()
  const said: Said[] = []
  for (const session of sessions) {
    said.push(...saidBy(await store.asOf(session, Number.MAX_SAFE_INTEGER, sayingKinds), order.saidBy))
  }
  for (const session of [...branches, ...sessions]) {
    const log = await open(session)
    if (!log.erased) await log.dropWords(order.saidBy, said)
  }
  await store.scrub()
}
