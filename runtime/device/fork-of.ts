import {HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {ServerLink} from '../sync/server-link.ts'
import {pullSession} from '../sync/session-sync.ts'
import {inheritedSlots} from './inherited-slots.ts'

/**
 * What the first event of a branch says: where it comes from, and what it inherits by value. [RUN-6, WRK-3]
 *
 * @throws HoldfastError `not_found` for a session that is not here, `bad_input` for an event that is not
 */
export async function forkOf(
  {store, link, parent}: {store: DeviceStore; link: ServerLink | null; parent: SessionLog},
  seq: number,
): Promise<DataOf<'session.forked'>> {
  // Another device may have seen the event already; without the server the answer is what this device has.
  if (link && seq > parent.head) await pullSession(link, parent).catch(() => undefined)
  const {agent, policy, title} = parent.state
  if (!agent) throw new HoldfastError('not_found', `session ${parent.id}: this device has no such session`)
  if (!Number.isInteger(seq) || seq < 1 || seq > parent.head) {
    throw new HoldfastError(
      'bad_input',
      `after: expected an event that the server has confirmed and this device has, 1 to ${parent.head}, got ${seq}`,
      {details: {field: 'after', head: parent.head}},
    )
  }
  const from = {session: parent.id, seq}
  return {agent, policy, from, ...(title && {title}), ...(await inheritedSlots(store, from))}
}
