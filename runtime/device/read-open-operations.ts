import {holdsProposals, type OpenOperation, openOperationKinds, openOperations} from '../protocol/open-operations.ts'
import {hasEnded} from '../protocol/operation.ts'
import type {DeviceStore, SessionRecord} from '../storage/device-store.ts'

/** Events read first. Four times more are read until every proposal is found. */
const first = 50

/** Returns the operations of a session that have not ended, wherever they were proposed. */
export async function readOpenOperations(
  store: Pick<DeviceStore, 'read'>,
  {id, current}: SessionRecord,
): Promise<OpenOperation[]> {
  if (current.operations.every(hasEnded)) return []
  for (let limit = first; ; limit *= 4) {
    const events = await store.read(id, limit, openOperationKinds)
    if (events.length < limit || holdsProposals(current, events)) return openOperations(current, events)
  }
}
