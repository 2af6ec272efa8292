import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Actor, Draft, Envelope, Event} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {SessionLog} from '../../runtime/storage/session-log.ts'
import {confirmed, fold, repliedEvents, scribe} from '../support/events.ts'

const maya = {type: 'person', subject: 'maya'} as Actor
let database: Awaited<ReturnType<typeof openNodeDatabase>>
let store: DeviceStore
beforeAll(async () => {
  database = await openNodeDatabase({dataDir: 'memory://'})
  store = await openPGliteStore(database.db, env)
})
afterAll(() => database.close())

async function openLog(id: SessionId = env.id('session'), over: DeviceStore = store): Promise<SessionLog> {
  return await SessionLog.open({store: over, device: (await store.device()).id, environment: env, projections: []}, id)
}

const opened: Draft = {kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
const message = (text: string, id?: Event['id']): Draft => ({kind: 'message.posted', data: {text}, ...(id && {id})})
const cancelled: Draft = {kind: 'run.cancelled', data: {}}

async function texts(log: SessionLog): Promise<string[]> {
  return (await log.read(100)).flatMap(({event}) => {
    return event.kind === 'message.posted' && !('unreadable' in event) ? [event.data.text] : []
  })
}

/** The same log as its server would hand it out. */
async function asConfirmed(log: SessionLog, after = 0): Promise<Envelope[]> {
  const pending = await store.pending(log.id, 100)
  return confirmed(pending as Event[], after)
}

/** A server's own events about a session that another device opened. */
function foreign(texts: string[]) {
  const desk = scribe()
  const events = [desk.event('session.opened'), ...texts.map(text => desk.event('message.posted', {data: {text}}))]
  return {id: desk.names.session, desk, page: confirmed(events)}
}

describe('append', () => {
  test('[LOG-6] a refused draft in the middle stores nothing of its batch', async () => {
    const log = await openLog()
    await log.append(maya, [opened])
    await expect(log.append(maya, [message('one'), cancelled, message('two')])).rejects.toMatchObject({code: 'refused'})
    expect(await texts(log)).toEqual([])
    expect(log.state.unanswered).toEqual([])
    await log.append(maya, [message('three')])
    expect((await log.read(9)).map(({event}) => event.deviceSeq)).toEqual([1, 2])
  })

  test('[LOG-3] the same id twice is stored once, in one batch or in two, before and after a restart', async () => {
    const log = await openLog()
    const id = env.id('event')
    await log.append(maya, [opened, message('once', id), message('once', id)])
    await log.append(maya, [message('once', id)])
    const again = await openLog(log.id)
    await again.append(maya, [message('once', id)])
    expect(await texts(again)).toEqual(['once'])
    expect(again.state.unanswered).toEqual([id])
  })

  const clashes: [string, (id: Event['id']) => Draft][] = [
    ['another text', id => message('other', id)],
    ['another kind', id => ({kind: 'document.updated', data: {document: 'draft', update: 'AAA='}, id})],
  ]
  test.each(clashes)('[LOG-3] the same id with %s is refused and changes nothing', async (_, clash) => {
    const log = await openLog()
    const id = env.id('event')
    await log.append(maya, [opened, message('first', id)])
    await expect(log.append(maya, [message('innocent'), clash(id)])).rejects.toMatchObject({code: 'conflict'})
    expect(await texts(log)).toEqual(['first'])
  })

  test('[LOG-3] the id of an event of another session is refused too', async () => {
    const [one, two] = [await openLog(), await openLog()]
    const id = env.id('event')
    await one.append(maya, [opened, message('hers', id)])
    await expect(two.append(maya, [opened, message('hers', id)])).rejects.toMatchObject({code: 'conflict'})
  })

  test('[LOG-4] a draft that its schema refuses is not stored and names the field', async () => {
    const log = await openLog()
    await expect(log.append(maya, [opened, message('')])).rejects.toMatchObject({
      code: 'bad_input',
      message: expect.stringContaining('data.text'),
    })
    expect(await store.session(log.id)).toBeNull()
  })

  test('[LOG-5] NUL, halves of characters and a cut emoji in text and title are kept exactly', async () => {
    const log = await openLog()
    const said = ['\0\ud800', `${'x'.repeat(119)}😀`]
    await log.append(maya, [
      {...opened, data: {...opened.data, title: '\0\udfff'}} as Draft,
      ...said.map(each => message(each)),
    ])
    const again = await openLog(log.id)
    expect(await texts(again)).toEqual(said)
    expect(again.state.title).toBe('\0\udfff')
  })

  test('[LOG-2] [LOG-6] what is appended to a log that has confirmed events leaves both states as they are in memory', async () => {
    const log = await openLog()
    await log.append(maya, [opened, message('first')])
    expect((await openLog(log.id)).record).toStrictEqual(log.record)
    await log.receive(await asConfirmed(log))
    await log.append(maya, [message('second')])
    const {record} = await openLog(log.id)
    expect(record).toStrictEqual(log.record)
    expect([record.confirmed.unanswered.length, record.current.unanswered.length]).toEqual([1, 2])
    expect((await store.sessions()).find(({id}) => id === log.id)).toStrictEqual(record)
  })

  test('[LOG-1] appends at once are one after the other, none is lost', async () => {
    const log = await openLog()
    await log.append(maya, [opened])
    const said = Array.from({length: 12}, (_, i) => `message ${i}`)
    await Promise.all(said.map(text => log.append(maya, [message(text)])))
    expect(await texts(log)).toEqual(said)
  })
})

describe('a write that fails', () => {
  /** Fails at the very end, when everything else of the transaction has been written. */
  function failing(): {store: DeviceStore; fail: {now: boolean}} {
    const fail = {now: false}
    const transaction: DeviceStore['transaction'] = work =>
      store.transaction(async unit => {
        const failing =
          (saved: typeof unit.save): typeof unit.save =>
          async record => {
            await saved(record)
            if (fail.now) throw new Error('disk full')
          }
        return await work({...unit, save: failing(unit.save), advance: failing(unit.advance)})
      })
    return {store: {...store, transaction}, fail}
  }

  const writes: [string, (log: SessionLog) => Promise<void>][] = [
    ['append', log => log.append(maya, [message('lost')])],
    ['receive', async log => log.receive(await asConfirmed(log))],
    ['reject', async log => log.reject((await store.pending(log.id, 9)).slice(1).map(({id}) => ({id, reason: 'no'})))],
  ]
  test.each(writes)(
    '[LOG-1] %s leaves store, memory and listeners as they were, and works when tried again',
    async (_, write) => {
      const {store: fragile, fail} = failing()
      const log = await openLog(env.id('session'), fragile)
      await log.append(maya, [opened, message('kept')])
      const before = {record: log.record, events: await log.read(9)}
      let told = 0
      log.onChange(() => {
        told += 1
      })
      fail.now = true
      await expect(write(log)).rejects.toThrow('disk full')
      expect({record: log.record, events: await log.read(9)}).toStrictEqual(before)
      expect((await openLog(log.id)).record).toStrictEqual(before.record)
      expect(told).toBe(0)
      fail.now = false
      await write(log)
      expect(told).toBe(1)
    },
  )

  test('[LOG-6] what follows from drafts commits with them; what is refused of it leaves them as they are', async () => {
    const log = await openLog()
    await log.append(maya, [opened])
    await log.append(maya, [message('first')], ({before, state, events}) => {
      expect([before.unanswered.length, state.unanswered.length, events.length]).toEqual([0, 1, 1])
      return [message('second')]
    })
    await log.append(maya, [message('third')], () => [message('never'), cancelled])
    const stored = await openLog(log.id)
    expect(await texts(stored)).toEqual(['first', 'second', 'third'])
    expect(stored.record).toStrictEqual(log.record)
    await log.append(maya, [], () => [message('of nothing')])
    expect(await texts(log)).toHaveLength(3)
  })

  test('[OP-1] work that throws takes its own writes with it', async () => {
    const log = await openLog()
    await log.append(maya, [opened])
    await database.db.exec('create table if not exists effects (what text)')
    const work = log.appendWith(maya, async unit => {
      await unit.sql("insert into effects values ('half')")
      throw new Error('tool broke')
    })
    await expect(work).rejects.toThrow('tool broke')
    expect((await database.db.query('select * from effects')).rows).toEqual([])
  })
})

describe('receive', () => {
  test('[SYNC-3] pages that repeat, overlap or come out of order end like one clean pull', async () => {
    const {id, page} = foreign(['a', 'b', 'c', 'd'])
    const log = await openLog(id)
    const slices = [
      [0, 2],
      [0, 2],
      [3, 5],
      [1, 4],
      [2, 5],
      [0, 5],
    ] as const
    for (const [from, to] of slices) await log.receive(page.slice(from, to))
    expect(await texts(log)).toEqual(['a', 'b', 'c', 'd'])
    expect(log.head).toBe(5)
    expect(log.state).toStrictEqual(fold(page as Event[]))
  })

  test('[SYNC-3] a gap ends the batch: what lies beyond is not taken before what is missing', async () => {
    const {id, page} = foreign(['a', 'b', 'c'])
    const log = await openLog(id)
    await log.receive([page[0], page[1], page[3]] as Envelope[])
    expect(log.head).toBe(2)
    expect(await texts(log)).toEqual(['a'])
    await log.receive(page)
    expect(await texts(log)).toEqual(['a', 'b', 'c'])
  })

  test('[LOG-2] confirmed events stand before pending ones, whatever the clocks said', async () => {
    const fiveHours = 5 * 3_600_000
    const log = await openLog()
    await log.append(maya, [opened, message('mine, early')])
    const desk = scribe()
    const [first] = await asConfirmed(log)
    const theirs = confirmed(
      [-fiveHours, fiveHours].map(shift =>
        desk.event('message.posted', {session: log.id, at: Date.now() + shift, data: {text: `theirs ${shift}`}}),
      ),
      1,
    )
    await log.receive([first!, ...theirs])
    await log.append(maya, [message('mine, late')])
    expect(await texts(log)).toEqual([`theirs -${fiveHours}`, `theirs ${fiveHours}`, 'mine, early', 'mine, late'])
  })

  test('[LOG-3] the confirmed copy of a pending event takes its place instead of doubling it', async () => {
    const log = await openLog()
    await log.append(maya, [opened, message('once')])
    await log.receive(await asConfirmed(log))
    expect(await texts(log)).toEqual(['once'])
    expect(await store.pending(log.id, 9)).toEqual([])
    expect(log.record.confirmed).toStrictEqual(log.state)
  })

  test('[LOG-4] an unreadable event is kept byte for byte, shown, and stops the run until the build can read it', async () => {
    const {id, desk, page} = foreign(['a'])
    const strange = {...desk.envelope('message.posted'), kind: 'goal.closed', seq: 3, data: {why: '\0done'}}
    const log = await openLog(id)
    await log.receive([...page, strange, {...desk.envelope('message.posted'), seq: 4}])
    const read = await log.read(9)
    expect(read[2]?.event).toStrictEqual({...strange, unreadable: expect.stringContaining('goal.closed')})
    expect(log.head).toBe(4)
    expect(log.state.unreadable).toMatchObject({event: strange.id})
  })
})

describe('reject', () => {
  test('[SYNC-2] a refused event stays visible with its reason, and the session folds on without it', async () => {
    const log = await openLog()
    await log.append(maya, [opened, message('good'), message('bad'), message('after')])
    const [, , bad] = await store.pending(log.id, 9)
    await log.reject([{id: bad!.id, reason: 'too rude\0'}])
    expect(await texts(log)).toContain('bad')
    expect(await store.rejected(log.id)).toMatchObject([{event: {id: bad!.id}, reason: 'too rude '}])
    expect(log.state.unanswered).not.toContain(bad!.id)
    expect(log.state.unanswered).toHaveLength(2)
    expect((await openLog(log.id)).record).toStrictEqual(log.record)
  })

  test('[SYNC-1] a verdict that comes after the event was confirmed changes nothing', async () => {
    const log = await openLog()
    await log.append(maya, [opened, message('good')])
    const page = await asConfirmed(log)
    await log.receive(page)
    await log.reject([{id: page[1]!.id, reason: 'stale answer'}])
    expect(await store.rejected(log.id)).toEqual([])
    expect(log.state.unanswered).toEqual([page[1]!.id])
  })
})

describe('forks', () => {
  const forkOf = (session: SessionId, seq: number): Draft => ({
    kind: 'session.forked',
    data: {agent: 'desk', policy: 'steer', from: {session, seq}},
  })

  test('[RUN-6] a fork reads the prefix and its own, a fork of a fork both prefixes, and none sees the abandoned branch', async () => {
    const {id, page} = foreign(['a', 'b', 'c'])
    const trunk = await openLog(id)
    await trunk.receive(page)
    const branch = await openLog()
    await branch.append(maya, [forkOf(id, 3), message('x'), message('y')])
    await branch.receive(await asConfirmed(branch))
    const twig = await openLog()
    await twig.append(maya, [forkOf(branch.id, 2), message('z')])
    await trunk.append(maya, [message('later')])
    expect(await texts(branch)).toEqual(['a', 'b', 'x', 'y'])
    expect(await texts(twig)).toEqual(['a', 'b', 'x', 'z'])
    expect(await texts(await openLog(twig.id))).toEqual(['a', 'b', 'x', 'z'])
    expect((await twig.read(2)).map(({event}) => event.kind)).toEqual(['session.forked', 'message.posted'])
    expect((await store.read(twig.id, 2, ['message.posted'])).map(({event}) => event.data)).toEqual([
      {text: 'x'},
      {text: 'z'},
    ])
  })

  test('[RUN-6] a fork inherits no run, call, operation or pending answer', async () => {
    const desk = scribe()
    const trunk = await openLog(desk.names.session)
    await trunk.receive(confirmed([...repliedEvents(desk), desk.event('operation.proposed')]))
    expect(trunk.state.calls).toHaveLength(3)
    const branch = await openLog()
    await branch.append(maya, [forkOf(trunk.id, 6)])
    expect(branch.state).toMatchObject({run: null, calls: [], operations: [], unanswered: [], custody: {epoch: 1}})
  })
})
