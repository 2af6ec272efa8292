import {isAtRest} from '../protocol/at-rest.ts'
import {HoldfastError, isOutOfReach} from '../protocol/errors.ts'
import type {Actor} from '../protocol/event.ts'
import type {DeviceId, EventId, SessionId} from '../protocol/ids.ts'
import {isActive} from '../protocol/run.ts'
import type {SessionState} from '../protocol/session.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {ServerLink} from '../sync/server-link.ts'
import {pullSession, syncSession} from '../sync/session-sync.ts'
import type {SessionDevice} from './runtime-service.ts'

type Parts = {link: ServerLink | null; store: DeviceStore; device: DeviceId; log: SessionLog}

/** Makes this device the holder, unless another device was faster. [CUS-3] */
export async function takeOver({link, device, log}: Parts): Promise<void> {
  if (!link) throw new HoldfastError('refused', 'takeOver: a runtime without a server has nobody to ask for custody')
  await pullSession(link, log)
  if (log.state.custody.holder === device) return
  await link.claim(log.id, {device, sawEpoch: log.record.confirmed.custody.epoch})
  await pullSession(link, log)
}

/**
 * Takes custody of a session that no device works on: online by a claim that is refused while the holder works, offline
 * provisionally. Offline, only a session without an active run is taken: whether the holder of a waiting run has gone on
 * is not known, and both would work on one run. [CUS-3, CUS-4]
 */
export async function takeIdle(
  {link, store, device, log}: Parts,
  assume: {author: Actor; event: EventId},
): Promise<void> {
  const isElsewhere = () => log.state.custody.holder !== device
  try {
    if (link) {
      await pullSession(link, log)
      // A divergence on this device waits for the person's choice, and the holder answers in the meantime. [CUS-4]
      if (!isElsewhere() || !isAtRest(log.state) || (await hasDiverged(store, log.id))) return
      await link.claim(log.id, {device, sawEpoch: log.record.confirmed.custody.epoch, idle: true})
      return await pullSession(link, log)
    }
  } catch (error) {
    // Another device was faster. Its work arrives with the next pull.
    if (HoldfastError.is(error, 'refused', 'stale_epoch')) return
    if (!isOutOfReach(error)) throw error
  }
  if (isElsewhere() && !isActive(log.state.run) && log.head > 0) await continueOffline(log, {...assume, device})
}

/** Whether this device has a divergence that the person has not resolved. */
export async function hasDiverged(store: Pick<DeviceStore, 'divergences'>, session: SessionId): Promise<boolean> {
  return (await store.divergences(session)).some(({resolution}) => resolution === null)
}

/**
 * Hands custody to another device. Pending work is pushed first; otherwise the hand-over would make it a divergence.
 * [CUS-3]
 */
export async function handOver({link, store, device, log}: Parts, to: DeviceId): Promise<void> {
  if (!link) throw new HoldfastError('refused', 'handOver: a runtime without a server has nobody to hand a session to')
  await syncSession(link, store, log)
  await pullSession(link, log)
  if (log.state.custody.holder === to) return
  await link.claim(log.id, {device, sawEpoch: log.record.confirmed.custody.epoch, to})
  await pullSession(link, log)
}

/** Continues here under the next epoch, provisionally. Idempotent. [CUS-4, CUS-5] */
export async function continueOffline(
  log: SessionLog,
  {author, event, device}: {author: Actor; event: EventId; device: DeviceId},
): Promise<void> {
  await log.appendWith(author, async (unit, state) => {
    if (state.custody.holder === device || (await unit.byIds([event])).length > 0) return []
    const data = {epoch: state.custody.epoch + 1, restsOn: log.head}
    return [{id: event, kind: 'custody.assumed', data}]
  })
}

/** Devices are known by what they have written. */
export function devicesOf({written, custody}: SessionState, here: DeviceId): SessionDevice[] {
  const devices = new Set([...(Object.keys(written) as DeviceId[]), ...(custody.holder ? [custody.holder] : [])])
  return [...devices].map(device => ({device, here: device === here, holder: device === custody.holder}))
}
