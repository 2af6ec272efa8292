import type {SessionId} from '../protocol/ids.ts'
import {effectKinds, type StandingEffects, standingEffects} from '../protocol/standing-effects.ts'
import type {DeviceStore} from '../storage/device-store.ts'

/**
 * What a branch at this event does not undo, from the records on this device: in the session itself, and after each
 * point at which it and its ancestors branched off. [RUN-6]
 */
export async function effectsAfter(
  store: Pick<DeviceStore, 'session' | 'own'>,
  session: SessionId,
  after: number,
): Promise<StandingEffects> {
  const effects: StandingEffects['effects'] = []
  let at: {session: SessionId; seq: number} | null = {session, seq: after}
  while (at) {
    const record = await store.session(at.session)
    if (!record?.current.session || record.confirmed.head < at.seq) return {effects, missing: [at.session]}
    const own = await store.own(at.session, effectKinds)
    effects.push(
      ...standingEffects(
        at.session,
        own.map(({event}) => event),
        at.seq,
      ),
    )
    at = record.current.forkedFrom
  }
  return {effects, missing: []}
}
