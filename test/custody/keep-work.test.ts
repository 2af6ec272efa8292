import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {settleDivergence} from '../../runtime/device/divergences.ts'
import {documentProjection} from '../../runtime/documents/document-projection.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Actor, Draft, Event} from '../../runtime/protocol/event.ts'
import {foldPending} from '../../runtime/storage/fold-log.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {OpenedDatabase} from '../../runtime/storage/pglite/opened-database.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import {everyByte, refOf} from '../support/blobs.ts'
import {crashableStore, Killer} from '../support/crashable-device.ts'
import {kindsOf, ofKind} from '../support/desk-scenes.ts'
import {confirmed, repliedEvents, type Scribe, scribe} from '../support/events.ts'

let database: OpenedDatabase
beforeAll(async () => {
  database = await openNodeDatabase({dataDir: 'memory://'})
})
afterAll(() => database.close())

const author = {type: 'person', subject: 'maya'} as Actor
const agent: Actor = {type: 'agent', name: 'desk'}

async function parts(desk: Scribe, killer = new Killer(null)) {
  const store = crashableStore(await openPGliteStore(database.db, env), killer)
  const {device} = desk.names
  const open = (id = desk.names.session) =>
    SessionLog.open({store, device, environment: env, projections: [documentProjection]}, id)
  return {store, device, environment: env, author, open, log: await open()}
}

function draftOf({kind, data, run, step, attempt, epoch}: Event): Draft {
  return {kind, data, ...(run && {run}), ...(step && {step}), ...(attempt && {attempt}), ...(epoch && {epoch})} as Draft
}

/** A device that has `known` confirmed events of a run, did the rest apart, and learned that custody had moved. */
async function workApart(known: number, ...more: Event['kind'][]): Promise<Scribe> {
  const desk = scribe()
  const events = repliedEvents(desk)
  const {log} = await parts(desk)
  await log.receive(confirmed(events.slice(0, known)))
  for (const event of [...events.slice(known), ...more.map(kind => desk.event(kind))]) {
    await log.append(event.actor, [draftOf(event)])
  }
  await log.receive(confirmed([desk.event('custody.granted')], known))
  return desk
}

async function settle(
  desk: Scribe,
  choice: 'keep' | 'merge' | 'discard',
  ids = {event: env.id('event'), fork: env.id('session')},
) {
  const all = await parts(desk)
  const [record] = await all.store.divergences(desk.names.session)
  const settlement = {divergence: record!.id, choice, ...ids}
  return {...all, record: record!, settlement, there: await settleDivergence(all, settlement)}
}

describe('[CUS-4] kept work', () => {
  test('that lacks nothing is the same events again, and open calls end as aborted', async () => {
    const desk = await workApart(2, 'tool.called', 'tool.returned')
    const {store, there, record} = await settle(desk, 'keep')
    expect(record.base).toBe(2)
    const events = (await store.own(there, null)).map(({event}) => event)
    expect(kindsOf(events)).toEqual([
      'session.forked',
      'run.started',
      'step.prepared',
      'model.replied',
      'tool.called',
      'tool.returned',
      'tool.returned',
      'tool.returned',
    ])
    expect(ofKind(events.slice(-2), 'tool.returned').map(({data}) => data.outcome)).toEqual(['aborted', 'aborted'])
    const ids = new Set(repliedEvents(desk).map(({run, step}) => `${run}${step}`))
    for (const {run, step} of events) expect(ids.has(`${run}${step}`) && run !== undefined).toBe(false)
    expect(events.every(({epoch}) => epoch === undefined || epoch === 1)).toBe(true)
  })

  test.each([
    [3, ['run.started', 'step.prepared', 'model.replied', 'tool.called']],
    [4, ['run.started', 'step.prepared', 'model.replied', 'tool.called']],
    [5, ['run.started', 'step.prepared', 'model.replied', 'tool.called']],
  ])('that began after event %i brings what it rests on with it', async (known, begins) => {
    const desk = await workApart(known, 'tool.called', 'tool.returned')
    const {store, there, record} = await settle(desk, 'keep')
    expect(record.base).toBe(known)
    const events = (await store.own(there, null)).map(({event}) => event)
    expect(kindsOf(events).slice(1, 5)).toEqual(begins)
    expect(kindsOf(events).filter(kind => kind === 'tool.returned')).toHaveLength(3)
    const {current} = (await store.session(there))!
    expect(current.calls).toEqual([])
    expect(foldPending(current, [])).toEqual(current)
  })

  test('[LOG-5] that held bytes holds them in the branch too; what names bytes that are not here is not taken', async () => {
    const desk = scribe()
    const {log, store} = await parts(desk)
    const events = repliedEvents(desk)
    await log.receive(confirmed(events.slice(0, 2)))
    for (const event of [...events.slice(2), desk.event('tool.called')]) await log.append(event.actor, [draftOf(event)])
    const returned = desk.event('tool.returned')
    const {$blob: id, ...ref} = refOf(everyByte)
    const data = {...returned.data, blobs: [{$blob: id, ...ref}]}
    const append = () => log.append(returned.actor, [{...draftOf(returned), data} as Draft])
    const before = log.record
    await expect(append()).rejects.toMatchObject({code: 'bad_input', details: {blob: id}})
    expect(log.record).toBe(before)
    await store.transaction(unit => unit.saveBlob(desk.names.session, {id, bytes: everyByte, state: 'sent'}))
    await append()
    await log.receive(confirmed([desk.event('custody.granted')], 2))
    const {there} = await settle(desk, 'keep')
    expect([...((await store.blob(there, id)) ?? [])]).toEqual([...everyByte])
    expect(await store.unsentBlobs(there)).toEqual([{id, noRoom: false}])
    expect(await store.unsentBlobs(desk.names.session)).toEqual([])
  })

  test('[WRK-3] brings the slots that it had changed', async () => {
    const desk = await workApart(5, 'slots.patched', 'tool.called', 'tool.returned')
    const {store, there} = await settle(desk, 'keep')
    expect((await store.session(there))?.current.slots).toEqual({order: 'A17'})
    expect((await store.session(desk.names.session))?.current.slots).toEqual({})
  })

  test('does not bring operations, and an intent alone is no divergence', async () => {
    const desk = await workApart(4, 'tool.called', 'operation.proposed')
    const {store, there} = await settle(desk, 'keep')
    expect(kindsOf((await store.own(there, null)).map(({event}) => event))).not.toContain('operation.proposed')

    const idle = scribe()
    const {log, store: same} = await parts(idle)
    await log.receive(confirmed(repliedEvents(idle)))
    await log.append(agent, [draftOf(idle.event('tool.called'))])
    await log.receive(confirmed([idle.event('custody.granted')], 5))
    expect(await same.divergences(idle.names.session)).toEqual([])
    expect(await same.rejected(idle.names.session)).toMatchObject([{divergence: null}])
    expect(log.state.custody.epoch).toBe(2)
  })
})

describe('[CUS-5] a choice', () => {
  test.each(['keep', 'merge', 'discard'] as const)(
    'to %s, killed at any point, has happened whole or not at all, and is made once',
    async choice => {
      for (let at = 1; ; at++) {
        const desk = await workApart(2, 'tool.called', 'tool.returned')
        const ids = {event: env.id('event'), fork: env.id('session')}
        const killer = new Killer(at)
        const mortal = await parts(desk)
        const [record] = await mortal.store.divergences(desk.names.session)
        const settlement = {divergence: record!.id, choice, ...ids}
        const store = crashableStore(mortal.store, killer)
        const {device} = mortal
        const open = (id = desk.names.session) =>
          SessionLog.open({store, device, environment: env, projections: [documentProjection]}, id)
        const dying = open()
          .then(log => settleDivergence({...mortal, store, log, open}, settlement))
          .catch(error => error)
        const outcome = await dying
        await killer.buried()
        const survived = !(outcome instanceof Error)
        const {store: left} = await parts(desk)
        const [before] = await left.divergences(desk.names.session)
        expect((await left.own(ids.fork, null)).length > 0).toBe(choice === 'keep' && before?.resolution !== null)
        await settle(desk, choice, ids)
        await settle(desk, choice, {event: env.id('event'), fork: env.id('session')})
        const [after] = await left.divergences(desk.names.session)
        expect(after?.resolution?.choice).toBe(choice)
        expect((await left.own(ids.fork, null)).length).toBe(choice === 'keep' ? 8 : 0)
        const messages = (await left.own(desk.names.session, ['message.posted'])).length
        expect(messages).toBe(choice === 'merge' ? 2 : 1)
        if (survived) break
      }
    },
  )
})
