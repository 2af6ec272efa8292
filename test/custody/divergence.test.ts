import {afterAll, beforeAll, expect, test} from 'vitest'
import type {Session} from '../../runtime/page/page-runtime.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type LoggedEvent, readEvent} from '../../runtime/protocol/event.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import {reads, until} from '../support/crashable-device.ts'
import {openTestServer, type TestServer} from '../support/desk.ts'
import {type Desk, openDesk} from '../support/two-devices.ts'

let shop: TestServer
beforeAll(async () => {
  shop = await openTestServer()
})
afterAll(() => shop.close())

const note = {text: 'I note it.', calls: [{tool: 'saveNote', input: {text: 'Lena waits.'}}]}
const refund = {text: 'Now the refund.', calls: [{tool: 'refundOrder', input: {orderId: 'A17', cents: 8900}}]}
const whenLevel = (session: Session) => until(session, view => view.pending === 0 && view.head > 0)
const replies = (view: SessionView) => view.entries.flatMap(entry => (entry.type === 'reply' ? [entry.text] : []))

async function log(subject: string, session: string): Promise<LoggedEvent[]> {
  return (await (await shop.link(subject)).pull(session as never, 0)).events.map(readEvent)
}

/**
 * The first device works offline under its old epoch while the second takes over and answers; then it comes back.
 * `more` is what its model says after the person has chosen.
 */
async function apart(subject: string, more: Parameters<typeof openDesk>[2] = []): Promise<{a: Desk; b: Desk}> {
  const a = await openDesk(shop, subject, [{text: 'Hello.'}, note, refund, ...more])
  await a.session.send('Hello?')
  await until(a.session, view => view.settled && view.status === 'completed' && view.pending === 0)
  const b = await openDesk(shop, subject, [{text: 'B22 is fine.'}, {text: 'The second device answers.'}], a)
  await until(b.session, view => view.status === 'completed')

  await a.online(false)
  await a.session.send('Note it, then refund A17.')
  await until(
    a.session,
    view => view.settled && view.entries.some(entry => entry.type === 'tool' && entry.operation !== null),
  )

  await b.session.takeOver()
  await b.session.send('And B22?')
  await until(b.session, view => replies(view).includes('B22 is fine.') && view.pending === 0)
  await a.online(true)
  await until(b.session, view => replies(view).includes('The second device answers.') && view.pending === 0)
  await until(a.session, view => view.divergence !== null && replies(view).includes('The second device answers.'))
  return {a, b}
}

const close = async ({a, b}: {a: Desk; b: Desk}) => {
  a.model.done()
  b.model.done()
  await a.runtime.close()
  await b.runtime.close()
}

test('[CUS-4] what a device did under an old epoch is never interleaved: it is set aside, and the page is told what it holds', async () => {
  const {a, b} = await apart('ann')
  const view = await whenLevel(a.session)
  expect(view).toMatchObject({custody: 'elsewhere', pending: 0, rejected: 0})
  expect(view.divergence).toMatchObject({
    replies: 2,
    toolResults: 1,
    lastWords: 'Now the refund.',
    proposals: [{tool: 'refundOrder'}],
    standing: [{tool: 'saveNote'}],
    resolution: null,
  })
  expect(view.passport?.rejected.length).toBeGreaterThan(5)
  const events = await log('ann', a.session.id)
  const grant = events.findIndex(({kind}) => kind === 'custody.granted')
  const later = events.slice(grant).filter(({epoch}) => epoch !== undefined)
  expect(new Set(later.map(({epoch}) => epoch))).toEqual(new Set([2]))
  expect(events.filter(({kind}) => kind === 'message.posted')).toHaveLength(3)
  expect(shop.payments.filter(({orderId}) => orderId === 'A17')).toEqual([])
  await close({a, b})
})

test('[CUS-4] [RUN-6] kept, it goes on as a branch from what it rested on, and inherits no operation', async () => {
  const {a, b} = await apart('ben', [
    {
      text: 'It goes on in a branch.',
      expect: ({prompt}) => {
        const said = JSON.stringify(prompt)
        expect(said).toContain('moved to its own branch')
        expect(said).toContain('Lena waits.')
        expect(said).not.toContain('B22')
      },
    },
  ])
  const before = await whenLevel(a.session)
  const branch = await a.session.resolveDivergence('keep')
  expect(branch.id).not.toBe(a.session.id)
  const view = await until(branch, one => one.settled && one.status === 'completed' && one.pending === 0)
  expect(view.entries.map(entry => ('text' in entry ? entry.text : entry.type))).toEqual([
    'Hello?',
    'Hello.',
    expect.stringContaining('Branched'),
    'Note it, then refund A17.',
    'I note it.',
    'tool',
    'Now the refund.',
    'tool',
    'It goes on in a branch.',
  ])
  expect(view.rejected).toBe(0)
  expect(view.passport?.branch?.from).toEqual({session: a.session.id, seq: before.divergence?.base})
  await reads(branch.document('draft'), 'Lena waits.')
  const events = await log('ben', branch.id)
  const kinds = events.map(({kind}) => kind)
  expect(kinds[0]).toBe('session.forked')
  expect(kinds).not.toContain('operation.proposed')

  // What its model was shown before it was cut off is still to be had, the step that named it or not.
  const steps = events.filter(({kind}) => kind === 'step.prepared')
  expect(steps).toHaveLength(3)
  const rebuilt = await Promise.all(steps.map(({run, step}) => a.runtime.viewOf(run!, step!)))
  expect(rebuilt.map(one => one && {exact: one.exact, lacking: one.lacking})).toEqual(
    steps.map(() => ({exact: true, lacking: []})),
  )

  // Out of the way in the original, and nothing of it is lost there.
  const original = await until(a.session, one => one.divergence?.resolution?.choice === 'keep')
  expect(replies(original)).toEqual(['Hello.', 'B22 is fine.', 'The second device answers.'])
  expect(original.passport?.rejected.length).toBe(before.passport?.rejected.length)
  expect((await a.session.resolveDivergence('keep')).id).toBe(branch.id)
  const refusal = await a.session.resolveDivergence('discard').catch(error => error)
  expect(HoldfastError.is(refusal, 'refused')).toBe(true)
  await close({a, b})
})

test('[CUS-4] merged, one plain message tells the holder what was done, and its next step sees it', async () => {
  const {a, b} = await apart('cem')
  b.steps.push({
    text: 'Understood.',
    expect: ({prompt}) => expect(JSON.stringify(prompt)).toContain('The agent said: Now the refund.'),
  })
  expect((await a.session.resolveDivergence('merge')).id).toBe(a.session.id)
  await a.session.resolveDivergence('merge')
  const view = await until(a.session, one => replies(one).includes('Understood.'))
  const said = view.entries.filter(entry => entry.type === 'message').at(-1)
  expect(said?.text).toContain('saveNote returned {"saved":true}')
  expect(said?.text).toContain('refundOrder was proposed there and never executed.')
  expect(view.entries.filter(entry => entry.type === 'message')).toHaveLength(4)
  await close({a, b})
})

test('[CUS-4] [SYNC-2] discarded, it is out of the way, still in the record, and can be taken back', async () => {
  const {a, b} = await apart('dan')
  const before = await whenLevel(a.session)
  expect(replies(before)).toContain('Now the refund.')
  await a.session.resolveDivergence('discard')
  const hidden = await until(a.session, view => view.divergence?.resolution?.choice === 'discard')
  expect(replies(hidden)).not.toContain('Now the refund.')
  expect(hidden.passport?.rejected).toEqual(before.passport?.rejected)
  await a.session.restoreDivergence()
  const restored = await until(a.session, view => view.divergence?.resolution === null)
  expect(replies(restored)).toContain('Now the refund.')
  await close({a, b})
})
