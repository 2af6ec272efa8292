import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest'
import type {InboxMemory} from '../../runtime/page/inbox-memory.ts'
import {processInboxMemory} from '../../runtime/page/inbox-memory.ts'
import {type Inbox, type InboxState, openInbox} from '../../runtime/page/open-inbox.ts'
import {type LinkFaults, networkDown, openTestServer, type TestServer} from '../support/desk.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDevice} from '../sync-server/support/device.ts'

let shop: TestServer
const opened: Inbox[] = []
beforeAll(async () => {
  shop = await openTestServer()
})
afterEach(() => {
  for (const inbox of opened.splice(0)) inbox.close()
})
afterAll(() => shop?.close())

/** Theo's device: `down` cuts it off, `memory` outlives its page. */
function theosDevice(theo: string, roles = ['approver']) {
  const device = {down: false, loseAnswers: false, memory: processInboxMemory() as InboxMemory}
  return {
    device,
    open: () => {
      const faults = {
        before: () => (device.down ? networkDown() : undefined),
        after: (_: string, path: string) =>
          device.loseAnswers && path.endsWith('/redemption') ? networkDown() : undefined,
      }
      const link = shop.linkWith(() => shop.token(theo, roles), {faults})
      const inbox = openInbox({url: 'http://desk.test', token: '', link, offline: {name: theo, memory: device.memory}})
      opened.push(inbox)
      let state: InboxState | null = null
      inbox.subscribe(next => {
        state = next
      })
      const until = async (met: (state: InboxState) => boolean): Promise<InboxState> => {
        await expect.poll(() => state && met(state)).toBe(true)
        return state as unknown as InboxState
      }
      return {inbox, until, hangUp: () => link.setOnline(false), pickUp: () => link.setOnline(true)}
    },
  }
}

let people = 0
/** A refund of 60 euros that waits for an approver. */
async function asked(cents = 6000) {
  const subject = `maya-${++people}`
  const token = await shop.token(subject)
  const who: Who = {tenant: 'shop', subject}
  const served = {
    app: {
      request: (path: string, init: RequestInit = {}) =>
        shop.server.app.request(path, {...init, headers: {...init.headers, authorization: `Bearer ${token}`}}),
    },
  }
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A17', cents})
  await device.push(served, [device.open(), ...refund.events])
  await shop.server.idle()
  const correct = () => device.push(served, [device.post('Stop.')])
  return {operation: refund.operation, correct, call: (path: string) => call(served, who, path)}
}

const itemOf = (state: InboxState, operation: string) => state.items.find(item => item.operation === operation)
const openHas = (operation: string) => (state: InboxState) => itemOf(state, operation)?.status === 'open'
const paid = (operation: string) => shop.payments.filter(payment => payment.operation === operation).length

/** Online once, so that the list has been seen and the key is known; then out of reach. */
async function offlineWith(theo: string, operation: string) {
  const {device, open} = theosDevice(theo)
  const first = open()
  const item = itemOf(await first.until(openHas(operation)), operation)
  await expect.poll(async () => (await device.memory.load()).key).not.toBeNull()
  device.down = true
  first.inbox.close()
  const page = open()
  return {device, open, ...page, item: item!, approve: {verdict: 'approve' as const, digest: item!.digest}}
}

/** The device reaches the server again, with a fresh page. */
function reconnected(own: Awaited<ReturnType<typeof offlineWith>>) {
  own.device.down = false
  own.inbox.close()
  return own.open()
}

describe('an inbox out of reach of its server', () => {
  test('[APP-4] shows what was seen last and since when, keeps a signed decision, and hands it in when it can', async () => {
    const {operation} = await asked()
    const own = await offlineWith('theo-1', operation)
    const cached = await own.until(state => state.connection.state === 'unreachable')
    expect(itemOf(cached, operation)?.status).toBe('open')
    expect(cached.seenAt).toEqual(expect.any(Number))
    expect(await own.inbox.decide(own.item.approval, {...own.approve, note: 'From the train'})).toBe('kept')
    const kept = await own.until(({decisions}) => decisions.length === 1)
    // Nothing is decided, and the page can say so.
    expect(itemOf(kept, operation)?.status).toBe('open')
    expect(kept.decisions[0]).toMatchObject({item: {operation}, refused: null})
    expect(paid(operation)).toBe(0)

    const back = reconnected(own)
    const done = await back.until(state => itemOf(state, operation)?.status === 'granted')
    await back.until(({decisions}) => decisions.length === 0)
    expect(itemOf(done, operation)).toMatchObject({decidedBy: 'theo-1', note: 'From the train'})
    await shop.server.idle()
    expect(paid(operation)).toBe(1)
  })

  test('[APP-4] a second click decides nothing more', async () => {
    const {operation} = await asked()
    const own = await offlineWith('theo-2', operation)
    await own.until(state => state.connection.state === 'unreachable')
    await own.inbox.decide(own.item.approval, own.approve)
    await expect(own.inbox.decide(own.item.approval, own.approve)).rejects.toMatchObject({code: 'refused'})
    expect((await own.device.memory.load()).decisions).toHaveLength(1)
  })

  test('[APP-4] an answer that is lost is no refusal: handed in again, the decision counts once', async () => {
    const {operation} = await asked()
    const own = await offlineWith('theo-3', operation)
    await own.until(state => state.connection.state === 'unreachable')
    await own.inbox.decide(own.item.approval, own.approve)
    own.device.loseAnswers = true
    const losing = reconnected(own)
    await shop.server.idle()
    await expect.poll(() => paid(operation)).toBe(1)
    expect((await own.device.memory.load()).decisions).toHaveLength(1)
    own.device.loseAnswers = false
    losing.inbox.close()
    await own.open().until(state => state.decisions.length === 0 && itemOf(state, operation)?.status === 'granted')
    expect(paid(operation)).toBe(1)
  })

  test('[APP-4] [SYNC-2] what the server refuses stays visible with its reason until it has been read', async () => {
    const {operation, correct} = await asked()
    const own = await offlineWith('theo-4', operation)
    await own.until(state => state.connection.state === 'unreachable')
    await own.inbox.decide(own.item.approval, own.approve)
    await correct()
    const back = reconnected(own)
    const refused = await back.until(({decisions}) => decisions[0]?.refused != null)
    expect(refused.decisions[0]?.refused).toMatch(/voided.* A newer instruction arrived\./)
    expect(paid(operation)).toBe(0)
    back.inbox.close()
    const later = own.open()
    await later.until(({decisions}) => decisions.length === 1)
    await later.inbox.dismiss(refused.decisions[0]!.signed.intent.nonce)
    expect((await own.device.memory.load()).decisions).toEqual([])
  })

  test('[APP-4] a device that was never online has no key, so it cannot decide and says that it is offline', async () => {
    const {operation} = await asked()
    const seen = await offlineWith('theo-5', operation)
    const {device, open} = theosDevice('theo-6')
    device.down = true
    const page = open()
    await page.until(state => state.connection.state === 'unreachable')
    await expect(page.inbox.decide(seen.item.approval, seen.approve)).rejects.toMatchObject({code: 'offline'})
    expect((await device.memory.load()).decisions).toEqual([])
  })
})

/** What a server that is there, and what stands before it, may answer without having judged the decision. */
const noVerdict: [string, () => Response][] = [
  ['a page of a proxy', () => new Response('<h1>Bad gateway</h1>', {status: 502})],
  ['a login page', () => new Response('<html>Sign in</html>', {status: 200})],
  [
    'a limit of its rate',
    () => Response.json({error: {code: 'rate_limited', message: 'Wait.', details: {waitMs: 10}}}, {status: 429}),
  ],
  ['a fault', () => Response.json({error: {code: 'internal', message: 'The server failed.'}}, {status: 500})],
  ['a token that has expired', () => Response.json({error: {code: 'token_expired', message: 'x'}}, {status: 401})],
]

describe('an inbox that is live', () => {
  test.each(noVerdict)(
    '[APP-4] [SYNC-8] is answered with %s: the signed decision is kept, survives a reload, and is handed in without a new connection',
    async (name, answer) => {
      const {operation} = await asked()
      const theo = `theo-live-${name}`
      const {device, open} = theosDevice(theo)
      let failing = 3
      const faults: LinkFaults = {
        answer: (_, path, response) => (/(decision|redemption)$/.test(path) && failing-- > 0 ? answer() : response),
      }
      const openWith = () => {
        const link = shop.linkWith(() => shop.token(theo, ['approver']), {faults})
        const inbox = openInbox({
          url: 'http://desk.test',
          token: '',
          link,
          offline: {name: theo, memory: device.memory},
        })
        opened.push(inbox)
        return inbox
      }
      const first = open()
      const item = itemOf(await first.until(openHas(operation)), operation)!
      await first.until(({ownKey}) => ownKey !== null)
      first.inbox.close()
      const inbox = openWith()
      let state: InboxState | null = null
      inbox.subscribe(next => {
        state = next
      })
      await expect.poll(() => state?.connection.state === 'live' && openHas(operation)(state)).toBe(true)
      expect(await inbox.decide(item.approval, {verdict: 'approve', digest: item.digest})).toBe('kept')
      expect((await device.memory.load()).decisions).toMatchObject([{refused: null}])
      inbox.close()
      const again = openWith()
      let later: InboxState | null = null
      again.subscribe(next => {
        later = next
      })
      await expect
        .poll(() => later !== null && later.decisions.length === 0 && itemOf(later, operation)?.status === 'granted')
        .toBe(true)
      await shop.server.idle()
      expect(paid(operation)).toBe(1)
    },
  )
})

test('[APP-1] an open inbox lends a role, shows it on both sides and takes it back', async () => {
  const theo = theosDevice('theo-7').open()
  const dana = theosDevice('dana', []).open()
  const {operation} = await asked()
  await theo.until(openHas(operation))
  await dana.until(state => state.connection.state === 'live')
  const until = Date.now() + 240_000
  const {delegation} = await theo.inbox.delegate({role: 'approver', to: 'dana' as never, until})
  const item = itemOf(await dana.until(openHas(operation)), operation)!
  expect(await dana.inbox.delegations()).toMatchObject([{delegation, from: 'theo-7', to: 'dana'}])
  expect(await dana.inbox.decide(item.approval, {verdict: 'approve', digest: item.digest})).toBe('decided')
  await theo.inbox.revokeDelegation(delegation)
  await dana.until(({items}) => items.length === 0)
})

describe('the devices of an approver', () => {
  const device = (name: string) => theosDevice(name)

  test('[APP-4] are listed on each, and one that is revoked cannot decide offline and does not come back by itself', async () => {
    const {operation} = await asked()
    const phone = device('theo-8')
    const laptop = device('theo-8')
    const onPhone = phone.open()
    const {ownKey} = await onPhone.until(state => state.ownKey !== null && openHas(operation)(state))
    const onLaptop = laptop.open()
    const both = await onLaptop.until(({keys}) => keys?.length === 2)
    await onLaptop.inbox.revokeDevice(ownKey!)
    await onLaptop.until(({keys}) => keys?.find(({key}) => key === ownKey)?.revokedAt != null)
    expect((await onLaptop.until(() => true)).ownKey).toBe(both.ownKey)

    onPhone.inbox.close()
    const again = phone.open()
    await again.until(({keys, connection}) => keys !== null && connection.state === 'live')
    expect((await again.until(() => true)).ownKey).toBeNull()
    expect(await phone.device.memory.load()).toMatchObject({key: 'declined'})

    const item = itemOf(await again.until(openHas(operation)), operation)!
    phone.device.down = true
    again.hangUp()
    const decision = {verdict: 'approve' as const, digest: item.digest}
    await expect(again.inbox.decide(item.approval, decision)).rejects.toMatchObject({code: 'offline'})
    expect((await phone.device.memory.load()).decisions).toEqual([])
  })

  test('[APP-4] one that was revoked decides offline again once the person adds it, under the name they give', async () => {
    const {operation} = await asked()
    const own = device('theo-9')
    const page = own.open()
    const {ownKey} = await page.until(state => state.ownKey !== null && openHas(operation)(state))
    await page.inbox.revokeDevice(ownKey!)
    await page.until(state => state.ownKey === null)
    await expect(page.inbox.addDevice('x'.repeat(101))).rejects.toMatchObject({code: 'bad_input'})
    await page.inbox.addDevice('Office phone')
    const added = await page.until(state => state.ownKey !== null)
    expect(added.keys?.filter(({revokedAt}) => revokedAt === null)).toMatchObject([
      {key: added.ownKey, label: 'Office phone'},
    ])
    const item = itemOf(added, operation)!
    own.device.down = true
    page.hangUp()
    expect(await page.inbox.decide(item.approval, {verdict: 'approve', digest: item.digest})).toBe('kept')
  })

  test('[APP-4] what a device signed before it was revoked is refused with the reason, and it makes no other key', async () => {
    const {operation} = await asked()
    const own = await offlineWith('theo-10', operation)
    await own.until(state => state.connection.state === 'unreachable')
    await own.inbox.decide(own.item.approval, own.approve)
    const other = device('theo-10').open()
    const before = await own.device.memory.load()
    const key = before.key !== 'declined' && before.key?.key
    await other.until(({keys}) => keys !== null)
    await other.inbox.revokeDevice(key as never)
    const back = reconnected(own)
    const refused = await back.until(({decisions}) => decisions[0]?.refused != null)
    expect(refused.decisions[0]?.refused).toContain('revoked')
    await back.until(({keys}) => keys !== null)
    expect((await own.device.memory.load()).key).toBe('declined')
    expect(paid(operation)).toBe(0)
  })
})
