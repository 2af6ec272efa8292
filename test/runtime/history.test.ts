import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import type {TranscriptEntry} from '../../runtime/protocol/transcript.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {desk, deskTools} from '../support/desk.ts'
import {fillSession} from '../support/fill-session.ts'

let runtime: Awaited<ReturnType<typeof openRuntime>>
beforeAll(async () => {
  runtime = await openRuntime({agent: desk, model: scriptedModel([]), tools: deskTools, dataDir: 'memory://'})
})
afterAll(() => runtime.close())

async function filled(events: number, lastReply = 0): Promise<Session> {
  const id = env.id('session')
  await fillSession(await openPGliteStore(runtime.db, env), id, events, lastReply)
  return await runtime.openSession({session: id})
}

const viewOf = (session: Session) =>
  new Promise<SessionView>(resolve => {
    const stop = session.subscribe(view => {
      resolve(view)
      queueMicrotask(() => stop())
    })
  })

const textsOf = (entries: readonly TranscriptEntry[]) =>
  entries.map(entry => ('text' in entry ? entry.text.slice(0, 12) : ''))

async function whole(session: Session, limit: number): Promise<TranscriptEntry[]> {
  const view = await viewOf(session)
  const all = [...view.entries]
  for (let earlier = view.earlier; earlier; ) {
    const page = await session.history({before: all[0]!.id, limit})
    expect(page.entries.length).toBeGreaterThan(0)
    expect(page.entries.length).toBeLessThanOrEqual(limit)
    all.unshift(...page.entries)
    earlier = page.earlier
  }
  return all
}

describe('history by pages', () => {
  test.each([7, 50, 200])('in pages of %d is every entry once, in order', async limit => {
    const session = await filled(1_000)
    const entries = await whole(session, limit)
    expect(textsOf(entries)).toEqual(
      Array.from({length: 999}, (_, i) =>
        `${(i + 2) % 2 === 0 ? 'Message' : 'Reply'} ${i + 2}. `.repeat(2).slice(0, 12),
      ),
    )
    expect(new Set(entries.map(({id}) => id)).size).toBe(999)
  })

  test('of a fork goes on into what it inherits, and no further than its event', async () => {
    const session = await filled(300)
    const id = env.id('session')
    const store = await openPGliteStore(runtime.db, env)
    const parent = (await store.session(session.id))!
    await store.transaction(unit =>
      unit.save({
        ...parent,
        id,
        current: {...parent.current, forkedFrom: {session: session.id, seq: 250}, head: 0},
        confirmed: {...parent.confirmed, forkedFrom: {session: session.id, seq: 250}, head: 0},
      }),
    )
    const fork = await runtime.openSession({session: id})
    const entries = await whole(fork, 20)
    expect(entries.length).toBe(249)
    expect(textsOf(entries).at(-1)).toBe('Message 250.')
  })

  test('a view stays small however large and many its entries are, and its entries are read whole one by one', async () => {
    const session = await filled(401, 20_000)
    const view = await viewOf(session)
    expect(JSON.stringify(view).length).toBeLessThan(512 * 1024)
    expect(view.earlier).toBe(true)
    const last = view.entries.at(-1)!
    expect(last).toMatchObject({type: 'reply', cut: 20_000 * 11})
    const [read] = await session.entry(last.id)
    expect(read).toMatchObject({type: 'reply', text: 'Reply 401. '.repeat(20_000)})
    expect(read).not.toHaveProperty('cut')
  })

  test('[ID-4] names an entry of another session as not found, and what is no entry as bad input', async () => {
    const [one, two] = [await filled(10), await filled(10)]
    const {entries} = await viewOf(two)
    const foreign = await one.history({before: entries[0]!.id}).catch(error => error)
    expect(HoldfastError.is(foreign, 'not_found')).toBe(true)
    expect(HoldfastError.is(await one.entry(entries[0]!.id).catch(error => error), 'not_found')).toBe(true)
    const garbage = await one.history({before: 'first'}).catch(error => error)
    expect(garbage.message).toContain('history.before')
    const many = await one.history({before: entries[0]!.id, limit: 1_000}).catch(error => error)
    expect(many.message).toContain('at most 200 entries')
  })
})
