import type {RunId} from '../protocol/ids.ts'
import {overPassport, type Passport, passportOf, stateOfRun} from '../protocol/passport.ts'
import type {StandingEffects} from '../protocol/standing-effects.ts'
import type {DeviceStore, SessionRecord} from '../storage/device-store.ts'

/**
 * Returns the passport of a run that is not the latest of its session. It is folded from the log on request: requests
 * are rare, and stored rows would have to be written with every step. [ID-5]
 */
export async function earlierPassport(
  store: Pick<DeviceStore, 'own'>,
  {id, confirmed}: SessionRecord,
  {run, standing}: {run: RunId; standing?: StandingEffects},
): Promise<Passport | null> {
  const log = await store.own(id, null)
  const ofRun = log.filter(({event}) => event.run === run)
  const started = ofRun.find(({event}) => event.kind === 'run.started')
  const state = stateOfRun(
    log.flatMap(({event, durability}) => (durability.status !== 'rejected' || event.run === run ? [event] : [])),
    run,
  )
  const pending = ofRun.flatMap(({event, durability}) => (durability.status === 'device' ? [event.id] : []))
  const rejected = ofRun.flatMap(({event, durability}) =>
    durability.status === 'rejected' ? [{event: event.id, kind: event.kind, reason: durability.reason}] : [],
  )
  const passport = state && passportOf(state, {pending, rejected, ...(standing && {standing})}, confirmed.head)
  return passport && overPassport(passport, started?.durability.status === 'rejected' ? 'set_aside' : 'superseded')
}
