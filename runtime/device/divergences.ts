import * as z from 'zod'
import {type Divergence, divergenceChoices, divergenceOf, mergeText} from '../protocol/divergence.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Actor, Kind, LoggedEvent} from '../protocol/event.ts'
import {type DeviceId, type EventId, eventIdSchema, type SessionId, sessionIdSchema} from '../protocol/ids.ts'
import {refusalError} from '../protocol/refusal.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {forkOf} from './fork-of.ts'
import {keepWork} from './keep-work.ts'

/** What is chosen, and the ids of what that writes: made by the page, so that choosing again changes nothing. [CUS-5] */
export const settlementSchema = z.strictObject({
  divergence: eventIdSchema,
  choice: z.enum(divergenceChoices),
  /** Of the branch's opening, or of the message. */
  event: eventIdSchema,
  /** The branch that `keep` makes. */
  fork: sessionIdSchema,
})
export type DivergenceSettlement = z.infer<typeof settlementSchema>

const restsOn: readonly Kind[] = ['run.started', 'run.migrated', 'step.prepared', 'model.replied', 'tool.returned']

/** The latest work that this device did apart, and what became of it; null when there was none. [CUS-4] */
export async function latestDivergence(store: DeviceStore, session: SessionId): Promise<Divergence | null> {
  const record = (await store.divergences(session)).at(-1)
  if (!record) return null
  const {before, setAside} = await workOf(store, session, record)
  return divergenceOf(record, {before, events: setAside})
}

type Parts = {
  store: DeviceStore
  device: DeviceId
  environment: Environment
  log: SessionLog
  author: Actor
  open(session: SessionId): Promise<SessionLog>
}

/**
 * Does what the person chose, in one transaction with the record that it was chosen: killed at any point, either nothing
 * or all of it has happened. Answers with the session to look at: the branch, or the original. [CUS-4]
 *
 * @throws HoldfastError `not_found` for no such divergence, `refused` when something else was chosen before
 */
export async function settleDivergence(parts: Parts, settlement: DivergenceSettlement): Promise<SessionId> {
  const {store, log} = parts
  const record = (await store.divergences(log.id)).find(({id}) => id === settlement.divergence)
  if (!record)
    throw new HoldfastError('not_found', `divergence ${settlement.divergence}: this session has none of that id`)
  const {resolution} = record
  if (resolution?.choice === settlement.choice) return resolution.fork ?? log.id
  if (resolution) throw chosenBefore(settlement.choice, resolution.choice)
  const work = await workOf(store, log.id, record)
  switch (settlement.choice) {
    case 'keep':
      return keep(parts, settlement, {...work, base: record.base})
    case 'merge':
      await merge(parts, settlement, work)
      return log.id
    case 'discard':
      await discard(parts, settlement)
      return log.id
  }
}

/** Takes a discard back; what was kept or merged has left its trace and stays. */
export async function restoreDivergence(store: DeviceStore, session: SessionId, divergence: EventId): Promise<void> {
  const record = (await store.divergences(session)).find(({id}) => id === divergence)
  if (!record) throw new HoldfastError('not_found', `divergence ${divergence}: this session has none of that id`)
  if (!record.resolution) return
  const restored = await store.transaction(unit => unit.resolve(divergence, null))
  if (!restored) throw chosenBefore('restore', record.resolution.choice)
}

type Work = Awaited<ReturnType<typeof workOf>>

async function keep(
  {store, device, environment, log, author, open}: Parts,
  {divergence, event, fork}: DivergenceSettlement,
  {before, work, base}: Work & {base: number},
): Promise<SessionId> {
  const data = await forkOf({store, link: null, parent: log}, base)
  const branch = await open(fork)
  const parts = {fork, device, before, work, newId: environment.id}
  const opening = {actor: author, draft: {id: event, kind: 'session.forked' as const, data}}
  await branch.appendAuthored(async unit => {
    const resolution = {choice: 'keep' as const, fork, at: environment.now()}
    if (!(await unit.resolve(divergence, resolution))) throw chosenBefore('keep', 'another choice')
    return keepWork({...parts, opening})
  })
  const now = (await store.divergences(log.id)).find(({id}) => id === divergence)
  return now?.resolution?.fork ?? fork
}

async function merge(
  {environment, log, author}: Parts,
  {divergence, event}: DivergenceSettlement,
  {before, setAside}: Work,
): Promise<void> {
  // Said as a correction whatever the session's policy is: the holder's next step is to see it.
  const data = {text: mergeText({before, events: setAside}), policy: 'steer' as const}
  await log.appendWith(author, async unit => {
    const resolution = {choice: 'merge' as const, fork: null, at: environment.now()}
    if (!(await unit.resolve(divergence, resolution))) throw chosenBefore('merge', 'another choice')
    return [{id: event, kind: 'message.posted', data}]
  })
}

async function discard({store, environment}: Parts, {divergence}: DivergenceSettlement): Promise<void> {
  const resolution = {choice: 'discard' as const, fork: null, at: environment.now()}
  const done = await store.transaction(unit => unit.resolve(divergence, resolution))
  if (!done) throw chosenBefore('discard', 'another choice')
}

/**
 * The events that were set aside; and, for a branch, everything that this device wrote on top of the base, its messages
 * and document edits too, which the server has taken into the original meanwhile.
 */
async function workOf(store: DeviceStore, session: SessionId, {id, base}: {id: EventId; base: number}) {
  const written = await store.since(session, base)
  const setAside = written.filter(({divergence}) => divergence === id).map(({event}) => event)
  const device = setAside[0]?.device
  const work = written
    .filter(({event, basedOn, status, divergence}) => {
      if (event.device !== device) return false
      return divergence === id || (status !== 'rejected' && basedOn !== null && basedOn <= base)
    })
    .map(({event}) => event)
  return {setAside, work, before: await confirmedUpTo(store, session, base)}
}

async function confirmedUpTo(store: DeviceStore, session: SessionId, base: number): Promise<LoggedEvent[]> {
  const own = await store.own(session, restsOn)
  return own.flatMap(({event, durability}) => (durability.status === 'server' && durability.seq <= base ? [event] : []))
}

function chosenBefore(asked: string, met: string): HoldfastError {
  return refusalError({
    code: 'refused',
    asked: `${asked} for work done apart`,
    met: `work that was settled: ${met}`,
    owner: 'user',
    legal: met === 'discard' ? ['restore'] : [],
  })
}
