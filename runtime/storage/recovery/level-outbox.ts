import type {SessionId} from '../../protocol/ids.ts'
import type {Recovery} from '../../protocol/recovery.ts'
import type {DeviceStore} from '../device-store.ts'
import type {DeviceMemoryStore} from '../memory-store.ts'
import {recordsOfSession} from '../outbox/guard-store.ts'
import type {Outbox} from '../outbox/outbox.ts'
import type {OutboxRecord} from '../outbox/outbox-record.ts'
import {applyRecord, type OutboxState} from '../outbox/outbox-state.ts'

type Level = {
  state: OutboxState
  whole: boolean
  stale: ReadonlySet<SessionId>
  recovery: Recovery | null
  memory: DeviceMemoryStore
  device(): Promise<OutboxRecord>
}

/** Adds the records that the database has and the outbox lacks. An outbox with unreadable records is rewritten. */
export async function levelOutbox(outbox: Outbox, store: DeviceStore, level: Level): Promise<void> {
  const {state, whole, stale, recovery, memory} = level
  const records: OutboxRecord[] = [await level.device()]
  const sessions = whole ? [...stale] : (await store.sessions()).map(({id}) => id)
  for (const session of sessions) records.push(...(await recordsOfSession(store, session)))
  const {queue} = memory
  for (const change of await queue.changes()) {
    if (!state.changes.has(change.id)) records.push({type: 'memory_change', change})
  }
  const proposals = (await queue.proposals()).filter(({id}) => !state.proposals.has(id))
  if (proposals.length > 0) records.push({type: 'memory_proposals', proposals})
  if (recovery && recovery !== state.recovery?.recovery) records.push({type: 'recovery', recovery, dismissed: false})
  if (whole)
    return outbox.write(JSON.stringify(records[0]) === JSON.stringify(state.device) ? records.slice(1) : records)
  for (const record of records) applyRecord(state, record)
  await outbox.replace(state)
}
