import type {SessionId} from '../protocol/ids.ts'
import {foldSlots, type Slots, slotHistoryKinds} from '../protocol/slots.ts'
import type {DeviceStore} from '../storage/device-store.ts'

/** What a branch begins with, as its first event carries it: the slots as of the event it starts from. [WRK-3] */
export async function inheritedSlots(
  store: Pick<DeviceStore, 'asOf'>,
  from: {session: SessionId; seq: number},
): Promise<{slots?: Slots}> {
  const slots = foldSlots(await store.asOf(from.session, from.seq, slotHistoryKinds))
  return Object.keys(slots).length > 0 ? {slots} : {}
}
