import type {PGlite} from '@electric-sql/pglite'
import type {DeviceStore} from '../device-store.ts'
import type {DeviceMemoryStore} from '../memory-store.ts'
import type {OutboxRecord} from '../outbox/outbox-record.ts'
import type {OutboxState} from '../outbox/outbox-state.ts'

/** Restores the id, the owner and the online setting of the device, so that a new database keeps its owner. [ID-6] */
export async function restoreDevice(db: PGlite, {device}: OutboxState): Promise<void> {
  if (!device) return
  await db.query('insert into holdfast_device (id, online) values ($1, $2) on conflict do nothing', [
    device.device,
    device.online,
  ])
  const {owner} = device
  if (!owner) return
  await db.query('update holdfast_device set tenant = $1, subject = $2 where subject is null', [
    owner.tenant,
    owner.subject,
  ])
}

export async function deviceRecord(store: DeviceStore): Promise<OutboxRecord> {
  const {id, online} = await store.device()
  return {type: 'device', device: id, online, owner: await store.owner()}
}

export async function restoreMemory(
  db: PGlite,
  {queue}: DeviceMemoryStore,
  {changes, proposals}: OutboxState,
): Promise<void> {
  const known = new Set((await queue.changes()).map(({id}) => id))
  for (const change of changes.values()) {
    if (known.has(change.id)) continue
    await queue.addChange(change)
    if (change.refused !== null) await queue.refuseChange(change.id, change.refused)
  }
  for (const proposal of proposals.values()) {
    await db.query('insert into holdfast_memory_proposals (id, body) values ($1, $2) on conflict (id) do nothing', [
      proposal.id,
      JSON.stringify(proposal),
    ])
  }
}
