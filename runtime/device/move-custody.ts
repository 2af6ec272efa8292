import {HoldfastError} from '../protocol/errors.ts'
import type {Actor} from '../protocol/event.ts'
import type {DeviceId, EventId} from '../protocol/ids.ts'
import type {SessionState} from '../protocol/session.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {ServerLink} from '../sync/server-link.ts'
import {pullSession, syncSession} from '../sync/session-sync.ts'
import type {SessionDevice} from './runtime-service.ts'

type Parts = {link: ServerLink | null; store: DeviceStore; device: DeviceId; log: SessionLog}

/** Makes this device the holder, if nobody was quicker. [CUS-3] */
export async function takeOver({link, device, log}: Parts): Promise<void> {
  if (!link) throw new HoldfastError('refused', 'takeOver: a runtime without a server has nobody to ask for custody')
  await pullSession(link, log)
  if (log.state.custody.holder === device) return
  await link.claim(log.id, {device, sawEpoch: log.record.confirmed.custody.epoch})
  await pullSession(link, log)
}

/** Makes another device the holder. What was done here goes first, or the very hand-over would cut it off. [CUS-3] */
export async function handOver({link, store, device, log}: Parts, to: DeviceId): Promise<void> {
  if (!link) throw new HoldfastError('refused', 'handOver: a runtime without a server has nobody to hand a session to')
  await syncSession(link, store, log)
  await pullSession(link, log)
  if (log.state.custody.holder === to) return
  await link.claim(log.id, {device, sawEpoch: log.record.confirmed.custody.epoch, to})
  await pullSession(link, log)
}

/** Goes on here under the next epoch, provisionally; asked twice, it has been done once. [CUS-4, CUS-5] */
export async function continueOffline(
  log: SessionLog,
  {author, event}: {author: Actor; event: EventId},
): Promise<void> {
  await log.appendWith(author, async (unit, state) => {
    if ((await unit.byIds([event])).length > 0) return []
    const data = {epoch: state.custody.epoch + 1, restsOn: log.head}
    return [{id: event, kind: 'custody.assumed', data}]
  })
}

/** Devices are known by what they have written. */
export function devicesOf({written, custody}: SessionState, here: DeviceId): SessionDevice[] {
  const devices = new Set([...(Object.keys(written) as DeviceId[]), ...(custody.holder ? [custody.holder] : [])])
  return [...devices].map(device => ({device, here: device === here, holder: device === custody.holder}))
}
