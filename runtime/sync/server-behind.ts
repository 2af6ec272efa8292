import {HoldfastError} from '../protocol/errors.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {ServerLink} from './server-link.ts'

const sentence =
  'The server no longer has entries of this conversation that it had confirmed; it may have been restored from an older backup. They are kept on this device, and nothing more of this conversation is sent.'

/** The server lacks events that it had confirmed to this device. What would be sent now would follow another record. */
export function serverBehind(cause?: unknown): HoldfastError {
  return new HoldfastError('conflict', sentence, {details: {serverBehind: true}, cause})
}

export function isServerBehind(error: unknown): boolean {
  return HoldfastError.is(error, 'conflict') && error.details?.serverBehind === true
}

/**
 * Asks for the last event that is confirmed here, before anything is sent behind it: a server that was restored from an
 * older copy would give its seq to what comes first.
 *
 * @throws HoldfastError `conflict` with `details.serverBehind`
 */
export async function requireKnownHead(link: ServerLink, store: DeviceStore, log: SessionLog): Promise<void> {
  const {head} = log
  const last = (await store.since(log.id, head - 1)).find(({event}) => event.seq === head)
  if (!last) return
  const page = await link.pull(log.id, head - 1, 1)
  if (page.events[0]?.id !== last.event.id) throw serverBehind()
}

type Answer = {before: number; head: number; verdicts: readonly EventVerdict[]}

/**
 * A server that was restored from an older copy gives seqs again that this device has of other events: the answer names
 * an earlier head, or a seq that is taken here.
 *
 * @throws HoldfastError `conflict` with `details.serverBehind`
 */
export async function requireSameRecord(store: DeviceStore, log: SessionLog, {before, head, verdicts}: Answer) {
  if (head < before) throw serverBehind()
  // In this order: what a pull has confirmed meanwhile is not pending any more.
  const known = log.head
  const seqs = verdicts.flatMap(verdict => (verdict.status === 'rejected' ? [] : [verdict]))
  if (!seqs.some(({seq}) => seq <= known)) return
  const pending = new Set(await store.pendingIds(log.id, seqs.length + 1))
  if (seqs.some(({id, seq}) => seq <= known && pending.has(id))) throw serverBehind()
}
