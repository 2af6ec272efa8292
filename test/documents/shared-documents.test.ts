import fc from 'fast-check'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {applyUpdate, editText, readText} from '../../runtime/documents/shared-text.ts'
import {type NodeRuntime, openRuntime} from '../../runtime/node.ts'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {scriptedModel} from '../../runtime/testing.ts'
import {reads} from '../support/crashable-device.ts'
import {desk, deskTools, openTestServer, type TestServer} from '../support/desk.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

async function openDevice() {
  const sync = {link: await shop.link('maya'), token: await shop.token('maya')}
  return await openRuntime({agent: desk, model: scriptedModel([]), tools: deskTools, dataDir: 'memory://', sync})
}

const confirmed = (session: Session) =>
  new Promise<number>(resolve => {
    const stop = session.subscribe(view => {
      if (view.pending > 0 || view.head === 0) return
      resolve(view.head)
      queueMicrotask(() => stop())
    })
  })

test('[WRK-2] any edit is the smallest one, ends in the wanted text and never splits a character', () => {
  fc.assert(
    fc.property(fc.string({unit: 'grapheme'}), fc.string({unit: 'grapheme'}), (from, to) => {
      const before = editText(null, from)
      const snapshot = before ? applyUpdate(null, before) : null
      const update = editText(snapshot, to)
      expect(readText(update ? applyUpdate(snapshot, update) : snapshot)).toBe(to)
    }),
  )
})

test('[WRK-2] edits made apart at the same time all survive, in whatever order they meet', () => {
  const base = applyUpdate(null, editText(null, 'Dear Lena, we are sorry.') as Uint8Array)
  const one = editText(base, 'Dear Ms Brandt, we are sorry.') as Uint8Array
  const two = editText(base, 'Dear Lena, we are sorry. Your refund is on its way.') as Uint8Array
  const there = readText(applyUpdate(applyUpdate(base, one), two))
  expect(there).toBe(readText(applyUpdate(applyUpdate(base, two), one)))
  expect(there).toBe('Dear Ms Brandt, we are sorry. Your refund is on its way.')
})

test('[WRK-2] [WRK-3] two devices converge; a fork has the document as of its event, on both, and goes its own way', async () => {
  const [first, second] = [await openDevice(), await openDevice()]
  const session = await first.openSession({agent: 'desk'})
  const draft = session.document('draft')
  await draft.edit('Dear Lena,')
  const asOf = await confirmed(session)
  await draft.edit('Dear Lena, later.')
  await confirmed(session)

  const branch = await session.fork({after: asOf})
  await reads(branch.document('draft'), 'Dear Lena,')
  const branchDraft = branch.document('draft')
  await reads(branchDraft, 'Dear Lena,')
  await branchDraft.edit('Dear Lena, in the branch.')
  await confirmed(branch)

  await new Promise<void>(resolve => {
    const stop = second.subscribeSessions(list => {
      if (list.length < 2 || list.some(item => item.pending > 0)) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
  const there = await second.openSession({session: session.id})
  await reads(there.document('draft'), 'Dear Lena, later.')
  await reads((await second.openSession({session: branch.id})).document('draft'), 'Dear Lena, in the branch.')
  await first.close()
  await second.close()
})

test('[WRK-2] a text over the limit is refused by name, nobody overwrites it, and what is written instead merges', async () => {
  const device = await openDevice()
  const session = await device.openSession({agent: 'desk'})
  const [draft, other] = [session.document('draft'), session.document('draft')]
  const shown: string[] = []
  draft.subscribe(text => shown.push(text))
  other.subscribe(() => undefined)
  await draft.edit('Dear Lena,')
  await reads(other, 'Dear Lena,')
  const refusal = await draft.edit(`Dear Lena, ${'x'.repeat(1_500_000)}`).catch(error => error)
  expect(HoldfastError.is(refusal, 'too_large')).toBe(true)
  expect(refusal.message).toContain('at most 100000 characters, got 1500011')
  const before = shown.length
  await other.edit('Re: A17. Dear Lena,')
  await reads(session.document('draft'), 'Re: A17. Dear Lena,')
  expect(shown.length).toBe(before)
  await draft.edit('Dear Lena, sorry.')
  await reads(session.document('draft'), 'Re: A17. Dear Lena, sorry.')
  await device.close()
})

test('[WRK-2] a large text is stored as several events, with every character whole', async () => {
  const device = await openDevice()
  const session = await device.openSession({agent: 'desk'})
  const text = `a${'👍'.repeat(49_000)}`
  await session.document('draft').edit(text)
  await reads(session.document('draft'), text)
  await device.close()
})

const edits = async (device: NodeRuntime) =>
  (await device.db.query("select 1 from holdfast_events where kind = 'document.updated'")).rows.length

test('[WRK-2] what is typed within a second is one event, and it is there before a message is', async () => {
  const device = await openDevice()
  const session = await device.openSession({agent: 'desk'})
  const draft = session.document('draft')
  const text = 'Dear Lena, we are sorry about the mug. '.repeat(10)
  for (let typed = 1; typed <= text.length; typed++) void draft.edit(text.slice(0, typed))
  await draft.flush()
  await reads(session.document('draft'), text)
  expect(await edits(device)).toBeLessThan(20)
  void draft.edit(`${text}Bye.`)
  await session.send('Look at the draft.')
  const stored = await device.db.query<{kind: string}>(
    "select kind from holdfast_events where kind in ('document.updated', 'message.posted') order by device_seq",
  )
  expect(stored.rows.slice(-2).map(({kind}) => kind)).toEqual(['document.updated', 'message.posted'])
  await device.close()
})

test('[WRK-2] half a surrogate pair is replaced, so that all replicas read the same text', async () => {
  const device = await openDevice()
  const session = await device.openSession({agent: 'desk'})
  await session.document('draft').edit('A\ud83dB')
  await reads(session.document('draft'), 'A\ufffdB')
  await device.close()
})
