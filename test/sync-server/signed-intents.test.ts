import {beforeAll, describe, expect, test} from 'vitest'
import type {InboxItem} from '../../runtime/protocol/approval.ts'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {ApproverKey, SignedIntent} from '../../runtime/protocol/intent.ts'
import type {SyncServer} from '../../sync-server/index.ts'
import {approverDevice} from './support/approver-device.ts'
import {call, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let server: SyncServer
beforeAll(() => {
  server = servers.server()
})
let tenants = 0

/** A large refund that a lead has seen, whose device has a key that the server knows. */
async function waiting(tenant = `intent-${++tenants}`) {
  const who: Who = {tenant, subject: 'ana'}
  const lead: Who = {tenant, subject: 'lea', roles: ['lead']}
  servers.desk.setOrder(tenant, 'A1', 'shipped', 'v1')
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 6000}, {basis: {'order/A1': 'v1'}})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const item = (await inbox(server, lead)).find(({operation}) => operation === refund.operation)
  if (!item) throw new Error('nothing in the inbox')
  const phone = await approverDevice()
  const key = await phone.register(server, lead)
  return {
    who,
    lead,
    device,
    item,
    phone,
    key,
    intent: await phone.decide(key, item, {note: 'Fine, I am on a train.'}),
    paid: async () => (await servers.desk.payments(refund.operation)).length,
    told: () => told(server, who, device.session),
  }
}

const redeem = (who: Who, signed: SignedIntent, approval: string = signed.intent.approval) =>
  call<InboxItem & {error?: ErrorBody}>(server, who, `/v1/approvals/${approval}/redemption`, signed)
const audited = async (who: Who, about: string) =>
  (await database.store.audit.about(who.tenant as never, about)).map(({action}) => action)

describe('a decision that was signed offline', () => {
  test('[APP-4] is redeemed once, after the fact, under the name and the key of whoever signed it', async () => {
    const {who, lead, device, item, key, intent, paid} = await waiting()
    expect(await paid()).toBe(0)
    const answer = await redeem(lead, intent)
    expect(answer).toMatchObject({status: 200, body: {status: 'granted', decidedBy: 'lea'}})
    await server.idle()
    expect(await paid()).toBe(1)
    const granted = (await logOf(server, who, device.session)).find(({kind}) => kind === 'approval.granted')
    expect(granted?.data).toMatchObject({by: 'lea', signed: {key, nonce: intent.intent.nonce, at: intent.intent.at}})
    expect(await audited(lead, item.approval)).toEqual(['approval.granted'])
  })

  test('[APP-4] sent again, and twice at once, it moves nothing more and says what was decided', async () => {
    const {lead, item, intent, paid} = await waiting()
    const both = await Promise.all([redeem(lead, intent), redeem(lead, intent)])
    const replay = await redeem(lead, intent)
    expect([...both, replay].map(({status, body}) => [status, body.status])).toEqual(Array(3).fill([200, 'granted']))
    await server.idle()
    expect(await paid()).toBe(1)
    expect(await audited(lead, item.approval)).toEqual(['approval.granted'])
  })

  test('[APP-4] changed in any field after it was signed, it is worth nothing', async () => {
    const {lead, item, intent, paid} = await waiting()
    const other = await waiting(lead.tenant)
    const changes: [string, Partial<SignedIntent['intent']>][] = [
      ['verdict', {verdict: 'reject'}],
      ['digest', {digest: '0'.repeat(64)}],
      ['note', {note: 'Pay double.'}],
      ['at', {at: 5}],
      ['nonce', {nonce: 'f'.repeat(32)}],
      ['approval', {approval: other.item.approval}],
      ['key', {key: other.key}],
    ]
    for (const [field, change] of changes) {
      const forged = {...intent, intent: {...intent.intent, ...change}}
      const {status, body} = await redeem(lead, forged)
      expect([field, status, body.error?.details]).toEqual([field, 403, {key: 'mismatch'}])
    }
    const elsewhere = await redeem(lead, intent, other.item.approval)
    expect([elsewhere.status, elsewhere.body.error?.code]).toEqual([409, 'conflict'])
    await server.idle()
    expect([await paid(), await other.paid()]).toEqual([0, 0])
    const about = [...(await audited(lead, item.approval)), ...(await audited(lead, other.item.approval))]
    expect(about).toEqual(Array(8).fill('approval.decision_refused'))
  })

  test.each<[string, (own: Awaited<ReturnType<typeof waiting>>) => Promise<[Who, SignedIntent]>, number]>([
    [
      'for another digest',
      async ({lead, phone, key, item}) => [lead, await phone.decide(key, {...item, digest: '0'.repeat(64)})],
      409,
    ],
    [
      'with a key that nobody registered',
      async ({lead, key, item}) => [lead, await (await approverDevice()).decide(key, item)],
      403,
    ],
    ['brought by somebody else with the role', async ({lead, intent}) => [{...lead, subject: 'max'}, intent], 403],
    ['brought to another tenant', async ({lead, intent}) => [{...lead, tenant: 'intent-foreign'}, intent], 403],
    ['by somebody who no longer has the role', async ({lead, intent}) => [{...lead, roles: []}, intent], 404],
  ])('[APP-4] [APP-2] %s, it is refused, audited, and moves nothing', async (_, make, status) => {
    const own = await waiting()
    const [who, signed] = await make(own)
    expect((await redeem(who, signed)).status).toBe(status)
    await server.idle()
    expect(await own.paid()).toBe(0)
    expect(await audited(who, own.item.approval)).toEqual(['approval.decision_refused'])
    expect((await inbox(server, own.lead))[0]?.status).toBe('open')
  })

  test('[APP-4] a key that was revoked meanwhile, on another device, opens nothing', async () => {
    const {lead, key, intent, paid} = await waiting()
    await call<ApproverKey>(server, lead, `/v1/approver-keys/${key}/revocation`, {})
    expect((await redeem(lead, intent)).body.error).toMatchObject({code: 'forbidden', details: {key: 'revoked'}})
    await server.idle()
    expect(await paid()).toBe(0)
    expect(await audited(lead, key)).toEqual(['key.registered', 'key.revoked'])
  })

  test('[APP-4] too late for its expiry, it is refused', async () => {
    const {lead, intent, paid, told} = await waiting()
    servers.environment.advance(60_001)
    expect((await redeem(lead, intent)).body.error).toMatchObject({details: {status: 'expired'}})
    expect((await told()).at(-1)).toBe('approval.expired')
    expect(await paid()).toBe(0)
  })

  test('[APP-4] [OP-5] for facts that have moved since, it is refused as stale and the run plans anew', async () => {
    const {who, lead, item, intent, paid, told} = await waiting()
    servers.desk.setOrder(who.tenant, 'A1', 'returned', 'v2')
    const answer = await redeem(lead, intent)
    expect(answer.body.error).toMatchObject({code: 'refused', details: {reason: 'order/A1 has changed.'}})
    await server.idle()
    expect(await paid()).toBe(0)
    expect(await told()).toEqual(['approval.requested', 'operation.refused'])
    expect((await inbox(server, lead, 'all'))[0]).toMatchObject({status: 'voided', note: 'order/A1 has changed.'})
    expect(await audited(lead, item.approval)).toEqual(['approval.decision_refused'])
  })

  test('[APP-4] overtaken by a decision made online, or by a correction, it changes nothing', async () => {
    const decided = await waiting()
    await decide(server, decided.lead, decided.item.approval, {verdict: 'reject', digest: decided.item.digest})
    expect((await redeem(decided.lead, decided.intent)).body.error).toMatchObject({details: {status: 'rejected'}})
    const corrected = await waiting()
    await corrected.device.push(server, [corrected.device.post('Stop.')])
    expect((await redeem(corrected.lead, corrected.intent)).body.error).toMatchObject({details: {status: 'voided'}})
    await server.idle()
    expect([await decided.paid(), await corrected.paid()]).toEqual([0, 0])
  })

  test('[APP-4] a rejection can be signed too', async () => {
    const {lead, item, phone, key, paid} = await waiting()
    const signed = await phone.decide(key, item, {verdict: 'reject', note: 'No.'})
    expect((await redeem(lead, signed)).body).toMatchObject({status: 'rejected', note: 'No.'})
    await server.idle()
    expect(await paid()).toBe(0)
  })
})

describe('the keys of approvers', () => {
  test.each([['QUFBQQ=='.padStart(120, 'A')], ['A'.repeat(120)]])('[APP-4] %s is no public key', async publicKey => {
    const who = {tenant: 'intent-keys', subject: 'lea'}
    const answer = await call<{error: ErrorBody}>(server, who, '/v1/approver-keys', {publicKey, label: 'Phone'})
    expect([answer.status, answer.body.error.code]).toEqual([400, 'bad_input'])
  })

  test('[APP-4] the same key again, after an answer that was lost, is the same device', async () => {
    const who = {tenant: 'intent-keys', subject: 'ada'}
    const {publicKey} = await approverDevice()
    const add = () => call<ApproverKey>(server, who, '/v1/approver-keys', {publicKey, label: 'x'})
    const {body: first} = await add()
    expect((await add()).body).toEqual(first)
    expect((await call<{keys: ApproverKey[]}>(server, who, '/v1/approver-keys')).body.keys).toHaveLength(1)
  })

  test('[APP-4] the twenty-first is refused until one is revoked', async () => {
    const who = {tenant: 'intent-keys', subject: 'max'}
    const add = async () => {
      const {publicKey} = await approverDevice()
      return call<ApproverKey & {error?: ErrorBody}>(server, who, '/v1/approver-keys', {publicKey, label: 'x'})
    }
    const [first] = await Promise.all(Array.from({length: 20}, add))
    expect((await add()).status).toBe(409)
    await call(server, who, `/v1/approver-keys/${first?.body.key}/revocation`, {})
    expect((await add()).status).toBe(200)
    const {body} = await call<{keys: ApproverKey[]}>(server, who, '/v1/approver-keys')
    expect(body.keys).toHaveLength(21)
    expect(Object.keys(body.keys[0] ?? {}).sort()).toEqual(['createdAt', 'key', 'label', 'revokedAt'])
  })

  test('[APP-4] of keys that are registered at once, no more than 20 are in force', async () => {
    const who = {tenant: 'acme', subject: 'many-at-once', roles: ['lead']}
    const label = 'x'
    const answers = await Promise.all(
      Array.from({length: 24}, async () => {
        const {publicKey} = await approverDevice()
        return call(server, who, '/v1/approver-keys', {publicKey, label})
      }),
    )
    expect(answers.filter(({status}) => status === 200)).toHaveLength(20)
  })
})
