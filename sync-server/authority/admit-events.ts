import {blobsOf} from '../../runtime/protocol/blob.ts'
import {withErasedOutcome} from '../../runtime/protocol/decision-words.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {OperationId, SessionId} from '../../runtime/protocol/ids.ts'
import {sameJson} from '../../runtime/protocol/json.ts'
import {noSlots} from '../../runtime/protocol/slots.ts'
import {textStart} from '../../runtime/protocol/text.ts'
import type {EventVerdict, PushAnswer} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'
import type {Known, LockedSession} from '../storage/store.ts'
import {tellVerdicts} from '../telemetry/told-events.ts'
import {type AppendBatch, appendBatch} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {lackingError} from './blobs.ts'
import {commitBatch} from './commit-batch.ts'
import {goneError} from './erase.ts'
import {judgeEvent, remember} from './judge-event.ts'
import {pokeAbout} from './poke.ts'
import {forgedKinds, rejected, type Screened, screenEvents} from './screen-event.ts'

export type Admission = PushAnswer & {proposed: OperationId[]}

/**
 * Admits a batch of events in one transaction under the session lock and returns a verdict per event. Consequences,
 * such as voided operations, commit in the same transaction. [SYNC-1, LOG-2, LOG-3, RUN-4]
 *
 * @throws HoldfastError `not_found` for a session that does not exist or belongs to another subject, `erased` for an
 * erased one
 */
export async function admitEvents(
  authority: Authority,
  principal: Principal,
  session: SessionId,
  values: readonly unknown[],
): Promise<Admission> {
  const screened = await screenEvents(principal, session, values)
  const {tenant, subject} = principal
  await auditForged(authority, principal, session, values)
  await refuseStaleDevice(authority, principal, screened)
  const opens = screened.some(one => 'event' in one && isOpening(one.event))
  const key = {tenant, session, subject, ...(opens && {create: subject})}
  const admitted = await authority.store.sessions.locked(key, async locked => {
    const batch = appendBatch(session, locked.state, authority.environment)
    const verdicts = await judgeAll(locked, batch, screened)
    await commitBatch(authority, tenant, locked, batch)
    return {verdicts, head: batch.state.head, before: locked.state, after: batch.state, sealed: batch.sealed}
  })
  if (!admitted) {
    const gone = await goneError(authority.store, principal, session)
    if (gone.code === 'erased') throw gone
    return unknownSession(screened)
  }
  const {verdicts, head, before, after, sealed} = admitted.value
  tellVerdicts(authority.log, {tenant}, after, verdicts)
  pokeAbout(authority, {tenant, subject, session}, before, sealed)
  const proposed = sealed.flatMap(({event}) => (event.kind === 'operation.proposed' ? [event.data.operation] : []))
  return {verdicts, head, proposed}
}

/** Writes one audit entry per batch, so that a device cannot fill the audit faster than it may push. [APP-2] */
async function auditForged(
  {store, environment}: Authority,
  {tenant, subject}: Principal,
  session: SessionId,
  values: readonly unknown[],
): Promise<void> {
  const kinds = forgedKinds(values)
  if (kinds.length === 0) return
  const reason = `A device pushed what only the server writes: ${kinds.join(', ')}`
  await store.audit.record({
    tenant,
    subject,
    action: 'event.forged',
    about: session,
    reason: textStart(reason, 500),
    at: environment.now(),
  })
}

/** Events that a device recorded before its subject was erased would restore part of the erased data. [RET-3] */
async function refuseStaleDevice(
  {store}: Authority,
  principal: Principal,
  screened: readonly Screened[],
): Promise<void> {
  const device = screened.flatMap(one => ('event' in one ? [one.event.device] : []))[0]
  if (!device || !(await store.devices.isStale(principal, device))) return
  throw new HoldfastError('erased', 'This device holds records of a subject that was erased; purge them first.')
}

/**
 * Returns the verdicts for a session that does not exist. An unreadable opening event also leaves the session
 * unknown; the device then needs the verdict that names the event. The response must not depend on whether the
 * session exists for another subject. [ID-4]
 */
function unknownSession(screened: readonly Screened[]): Admission {
  const error = new HoldfastError('not_found', 'No such session.')
  if (screened.every(one => 'event' in one)) throw error
  const verdicts = screened.map(one => ('verdict' in one ? one.verdict : rejected(one.event.id, error)))
  return {verdicts, head: 0, proposed: []}
}

function isOpening(event: Event): boolean {
  return event.kind === 'session.opened' || event.kind === 'session.forked'
}

async function judgeAll(
  locked: LockedSession,
  batch: AppendBatch,
  screened: readonly Screened[],
): Promise<EventVerdict[]> {
  const known = await locked.known(screened.flatMap(one => ('event' in one ? [one.event] : [])))
  const verdicts: EventVerdict[] = []
  for (const one of screened) {
    verdicts.push('verdict' in one ? one.verdict : await judge(locked, batch, known, one.event, one.hash))
  }
  return verdicts
}

async function judge(
  locked: LockedSession,
  batch: AppendBatch,
  known: Known,
  pushed: Event,
  hash: string,
): Promise<EventVerdict> {
  // The hash stays that of the event as pushed, so that a second delivery is recognised. [LOG-3]
  const event = withErasedOutcome(batch.state, pushed)
  const fault = (await sourceFault(locked, event)) ?? (await blobFault(locked, event))
  const judgement = judgeEvent(batch.state, known, {event, hash, fault})
  if ('verdict' in judgement) return judgement.verdict
  const {seq} = batch.accept(event, hash)
  for (const {kind, run, data} of judgement.consequences) {
    await batch.serve('control', {kind, run, data, causes: [event.id]})
  }
  remember(known, event, seq, hash)
  return {status: 'accepted', id: event.id, seq}
}

async function blobFault(locked: LockedSession, event: Event): Promise<HoldfastError | null> {
  const lacks = await locked.lacking(blobsOf(event))
  return lacks.length > 0 ? lackingError(event, lacks) : null
}

async function sourceFault(locked: LockedSession, event: Event): Promise<HoldfastError | null> {
  if (event.kind !== 'session.forked') return null
  const {from, slots = noSlots} = event.data
  const head = await locked.headOf(from.session)
  if (head === null || head < from.seq) {
    return new HoldfastError('not_found', 'The session to branch from has no such event.')
  }
  // A branch inherits the recorded slots, not those that the device claims. [WRK-3]
  if (sameJson(slots, await locked.slotsAsOf(from.session, from.seq))) return null
  return new HoldfastError('bad_input', `event.data.slots: expected the slots of the source as of event ${from.seq}`, {
    details: {field: 'data.slots'},
  })
}
