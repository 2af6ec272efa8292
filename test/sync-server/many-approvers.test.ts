import {describe, expect, test} from 'vitest'
import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {ApprovalRequest, SyncServer} from '../../sync-server/index.ts'
import {call, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {decide, deskServers, inbox, logOf, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
let tenants = 0

/** A refund that waits for people; `lea` and `max` are leads, `hed` is the head. */
async function waiting(over: Partial<ApprovalRequest> = {}, requester: Omit<Who, 'tenant'> = {subject: 'ana'}) {
  const tenant = `many-${++tenants}`
  const approval = {role: 'lead', reason: 'A very large refund.', expiresInMs: 60_000, ...over}
  const server = servers.server({operations: servers.desk.operation({authorise: () => ({approval})})})
  const who: Who = {tenant, ...requester}
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const lea: Who = {tenant, subject: 'lea', roles: ['lead']}
  const [item] = await inbox(server, lea)
  if (!item) throw new Error('nothing in the inbox')
  return {
    server,
    who,
    device,
    item,
    lea,
    max: {tenant, subject: 'max', roles: ['lead']} satisfies Who,
    hed: {tenant, subject: 'hed', roles: ['head']} satisfies Who,
    dan: {tenant, subject: 'dan'} satisfies Who,
    approve: {verdict: 'approve' as const, digest: item.digest},
    paid: async () => (await servers.desk.payments(refund.operation)).length,
    told: () => told(server, who, device.session),
  }
}

const audited = async (who: Who, about: string) =>
  (await database.store.audit.about(who.tenant as never, about)).map(({action, subject}) => `${action} ${subject}`)

describe('an approval that two people have to give', () => {
  test('[APP-1] the first yes is kept and shown, the second of somebody else lets it run', async () => {
    const {server, item, lea, max, approve, paid, told} = await waiting({approvers: 2})
    expect(item).toMatchObject({approvers: 2, endorsements: [], you: 'may_decide'})
    const first = await decide(server, lea, item.approval, {...approve, note: 'Looks right.'})
    expect(first.body).toMatchObject({
      status: 'open',
      you: 'has_decided',
      endorsements: [{by: 'lea', note: 'Looks right.', delegatedBy: null}],
    })
    await server.idle()
    expect(await paid()).toBe(0)
    expect((await inbox(server, max))[0]).toMatchObject({you: 'may_decide', endorsements: [{by: 'lea'}]})
    const second = await decide(server, max, item.approval, approve)
    expect(second.body).toMatchObject({status: 'granted', decidedBy: 'max', endorsements: [{by: 'lea'}, {by: 'max'}]})
    await server.idle()
    expect(await paid()).toBe(1)
    expect((await told()).slice(0, 3)).toEqual(['approval.requested', 'approval.endorsed', 'approval.granted'])
    expect(await audited(lea, item.approval)).toEqual(['approval.endorsed lea', 'approval.granted max'])
  })

  test('[APP-2] one person cannot be both, neither one after the other nor by a double click', async () => {
    const {server, item, lea, approve, paid} = await waiting({approvers: 2})
    const both = await Promise.all([1, 2].map(() => decide(server, lea, item.approval, approve)))
    const again = await decide(server, lea, item.approval, approve)
    expect([...both, again].map(({status, body}) => [status, body.status])).toEqual(Array(3).fill([200, 'open']))
    await server.idle()
    expect(await paid()).toBe(0)
    expect(await audited(lea, item.approval)).toEqual(['approval.endorsed lea'])
  })

  test('[APP-2] two people at once: one endorses, the other grants, and it runs once', async () => {
    const {server, item, lea, max, approve, paid, told} = await waiting({approvers: 2})
    const both = await Promise.all([lea, max].map(who => decide(server, who, item.approval, approve)))
    expect(both.map(({status}) => status)).toEqual([200, 200])
    await server.idle()
    expect(await paid()).toBe(1)
    expect((await told()).filter(kind => kind.startsWith('approval.'))).toEqual([
      'approval.requested',
      'approval.endorsed',
      'approval.granted',
    ])
  })

  test('[APP-5] a no after a yes ends it, also from whoever had said yes', async () => {
    const {server, item, lea, max, approve, paid} = await waiting({approvers: 2})
    await decide(server, lea, item.approval, approve)
    const no = await decide(server, lea, item.approval, {...approve, verdict: 'reject', note: 'I misread it.'})
    expect(no.body).toMatchObject({status: 'rejected', decidedBy: 'lea'})
    expect((await decide(server, max, item.approval, approve)).status).toBe(409)
    await server.idle()
    expect(await paid()).toBe(0)
  })

  test('[APP-1] whoever asked is none of them, role or not, unless the definition says so', async () => {
    const lead = {subject: 'max', roles: ['lead']}
    const strict = await waiting({approvers: 2}, lead)
    const refused = await decide(strict.server, strict.who, strict.item.approval, strict.approve)
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'forbidden'])
    expect((await inbox(strict.server, strict.who))[0]?.you).toBe('asked_for_it')
    const allowed = await waiting({approvers: 2, requesterMayDecide: true}, lead)
    expect((await decide(allowed.server, allowed.who, allowed.item.approval, allowed.approve)).status).toBe(200)
    const single = await waiting({requesterMayDecide: false}, lead)
    expect((await decide(single.server, single.who, single.item.approval, single.approve)).status).toBe(403)
  })

  test('[RUN-4] a correction between the two takes the first yes with it', async () => {
    const {server, device, item, lea, max, approve, paid} = await waiting({approvers: 2})
    await decide(server, lea, item.approval, approve)
    await device.push(server, [device.post('Stop.')])
    expect((await decide(server, max, item.approval, approve)).body.error).toMatchObject({details: {status: 'voided'}})
    await server.idle()
    expect(await paid()).toBe(0)
  })
})

const lend = (server: SyncServer, from: Who, wish: {role: string; to: string; until: number; reason?: string}) =>
  call<Delegation & {error?: ErrorBody}>(server, from, '/v1/delegations', wish)
const soon = () => servers.environment.now() + 30_000

describe('a role that was lent', () => {
  test('[APP-1] the delegate decides under the name of both, until it is revoked; everything is audited', async () => {
    const {server, device, who, item, lea, dan, approve, paid} = await waiting()
    expect(await inbox(server, dan)).toEqual([])
    expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
    const lent = await lend(server, lea, {role: 'lead', to: 'dan', until: soon(), reason: 'Holiday'})
    expect(lent.body).toMatchObject({role: 'lead', from: 'lea', to: 'dan', reason: 'Holiday', revokedAt: null})
    expect(await inbox(server, dan)).toHaveLength(1)
    const listed = await call<{delegations: Delegation[]}>(server, dan, '/v1/delegations')
    expect(listed.body.delegations).toEqual([lent.body])
    expect((await decide(server, dan, item.approval, approve)).status).toBe(200)
    await server.idle()
    expect(await paid()).toBe(1)
    const granted = (await logOf(server, who, device.session)).find(({kind}) => kind === 'approval.granted')
    expect(granted?.data).toMatchObject({by: 'dan', delegatedBy: 'lea'})
    const revoked = await call<Delegation>(server, lea, `/v1/delegations/${lent.body.delegation}/revocation`, {})
    expect(revoked.body.revokedAt).toEqual(expect.any(Number))
    expect(await inbox(server, dan, 'all')).toEqual([])
    expect(await audited(lea, lent.body.delegation)).toEqual(['delegation.granted lea', 'delegation.revoked lea'])
  })

  test('[APP-2] lent again after a lost answer it is one delegation with the last end, and one revocation ends it', async () => {
    const {server, lea, dan, item, approve, paid} = await waiting()
    const wish = {role: 'lead', to: 'dan', until: soon()}
    const answers = await Promise.all([0, 1, 2].map(n => lend(server, lea, {...wish, until: wish.until + n})))
    expect(new Set(answers.map(({body}) => body.delegation)).size).toBe(1)
    const longer = await lend(server, lea, {...wish, until: wish.until + 5, reason: 'Ill'})
    const listed = await call<{delegations: Delegation[]}>(server, dan, '/v1/delegations')
    expect(listed.body.delegations).toEqual([longer.body])
    expect(longer.body).toMatchObject({until: wish.until + 5, reason: 'Ill'})
    await call(server, lea, `/v1/delegations/${longer.body.delegation}/revocation`, {})
    expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
    expect(await paid()).toBe(0)
  })

  test('[APP-2] of the same role lent twice by an earlier build, one revocation ends both', async () => {
    const {server, lea, dan, item, approve} = await waiting()
    const {body: lent} = await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
    await database.sql.query(
      `INSERT INTO hf_delegations (tenant, id, role, from_subject, to_subject, until, reason, created_at)
       SELECT tenant, $2, role, from_subject, to_subject, until, reason, created_at FROM hf_delegations
       WHERE tenant = $1 AND id = $3`,
      [lea.tenant, servers.environment.id('delegation'), lent.delegation],
    )
    await call(server, lea, `/v1/delegations/${lent.delegation}/revocation`, {})
    expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
  })

  test('[APP-2] it cannot be lent on, not for ever, not to oneself, and not by somebody without it', async () => {
    const {server, lea, max, dan} = await waiting()
    await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
    const wishes: [Who, Parameters<typeof lend>[2], string][] = [
      [dan, {role: 'lead', to: 'eve', until: soon()}, 'forbidden'],
      [max, {role: 'head', to: 'dan', until: soon()}, 'forbidden'],
      [lea, {role: 'lead', to: 'lea', until: soon()}, 'bad_input'],
      [lea, {role: 'lead', to: 'dan', until: servers.environment.now()}, 'bad_input'],
      [lea, {role: 'lead', to: 'dan', until: soon() + 91 * 86_400_000}, 'bad_input'],
      [lea, {role: 'lead', to: 'da\0n', until: soon()}, 'bad_input'],
    ]
    for (const [who, wish, code] of wishes) expect((await lend(server, who, wish)).body.error?.code).toBe(code)
    expect(await audited(dan, 'dan')).toEqual(['delegation.refused dan'])
    expect(await audited(lea, 'lea')).toHaveLength(3)
  })

  test('[APP-2] it ends with the access of its lender, or when the lender is erased', async () => {
    const operator = (tenant: string): Who => ({tenant, subject: 'olga', roles: ['operator']})
    const endings: ((server: SyncServer, tenant: string) => Promise<{status: number}>)[] = [
      (server, tenant) => call(server, operator(tenant), '/v1/revocations', {subject: 'lea'}),
      (server, tenant) => call(server, operator(tenant), '/v1/erasures', {subject: 'lea'}),
    ]
    for (const end of endings) {
      const {server, item, lea, dan, approve, paid} = await waiting()
      const lent = await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
      expect(await inbox(server, dan)).toHaveLength(1)
      expect((await end(server, lea.tenant)).status).toBe(200)
      expect(await inbox(server, dan)).toEqual([])
      expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
      await server.idle()
      expect(await paid()).toBe(0)
      const path = '/v1/delegations?subject=dan'
      const listed = await call<{delegations: Delegation[]}>(server, operator(lea.tenant), path)
      expect(listed.body.delegations).toMatchObject([{delegation: lent.body.delegation, revokedAt: expect.any(Number)}])
    }
  })

  test('[APP-2] an operator ends any of the tenant, and nobody else may see or end that of another', async () => {
    const {server, item, lea, dan, approve} = await waiting()
    const lent = await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
    const path = `/v1/delegations/${lent.body.delegation}/revocation`
    const stranger: Who = {tenant: lea.tenant, subject: 'eve', roles: ['support']}
    expect((await call(server, stranger, path, {})).status).toBe(404)
    expect((await call(server, stranger, '/v1/delegations?subject=dan')).status).toBe(403)
    const elsewhere: Who = {tenant: `${lea.tenant}-other`, subject: 'olga', roles: ['operator']}
    expect((await call(server, elsewhere, path, {})).status).toBe(404)
    const operator: Who = {tenant: lea.tenant, subject: 'olga', roles: ['operator']}
    expect((await call(server, operator, path, {})).status).toBe(200)
    expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
    expect((await decide(server, lea, item.approval, approve)).status).toBe(200)
  })

  test('[APP-2] it ends by its time, and a decision that comes a moment later is refused', async () => {
    const {server, item, lea, dan, approve} = await waiting()
    await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
    servers.environment.advance(30_001)
    expect((await decide(server, dan, item.approval, approve)).status).toBe(404)
    expect(await audited(dan, item.approval)).toEqual(['approval.decision_refused dan'])
    expect((await decide(server, lea, item.approval, approve)).status).toBe(200)
  })

  test('[APP-1] a lender and their delegate are one voice of the two that are needed', async () => {
    const {server, item, lea, max, dan, approve, paid} = await waiting({approvers: 2})
    await lend(server, lea, {role: 'lead', to: 'dan', until: soon()})
    expect((await decide(server, lea, item.approval, approve)).status).toBe(200)
    expect((await decide(server, dan, item.approval, approve)).body.error?.message).toContain('needs another')
    await lend(server, max, {role: 'lead', to: 'dan', until: soon()})
    expect((await decide(server, dan, item.approval, approve)).body).toMatchObject({status: 'granted'})
    await server.idle()
    expect(await paid()).toBe(1)
  })

  test('[APP-1] nobody allows their own request through a delegate', async () => {
    const {server, who, item, dan, approve} = await waiting({approvers: 2}, {subject: 'max', roles: ['lead']})
    await lend(server, who, {role: 'lead', to: 'dan', until: soon()})
    expect((await decide(server, dan, item.approval, approve)).status).toBe(409)
  })
})

describe('an approval that nobody decides', () => {
  test('[APP-1] escalates to another role at its time, in the log and in the inbox, and both may decide', async () => {
    const {server, item, lea, hed, approve, told, paid} = await waiting({escalate: {role: 'head', afterMs: 20_000}})
    expect(item.escalation).toMatchObject({role: 'head', happened: false})
    expect(await inbox(server, hed)).toEqual([])
    expect((await decide(server, hed, item.approval, approve)).status).toBe(404)
    servers.environment.advance(20_001)
    await server.start()
    await server.idle()
    expect(await told()).toEqual(['approval.requested', 'approval.escalated'])
    expect((await inbox(server, hed))[0]).toMatchObject({escalation: {role: 'head', happened: true}})
    expect(await inbox(server, lea)).toHaveLength(1)
    expect((await decide(server, hed, item.approval, approve)).status).toBe(200)
    await server.idle()
    await server.close()
    expect(await paid()).toBe(1)
  })

  test('[APP-1] what was decided in time neither escalates nor expires', async () => {
    const {server, item, lea, approve, told} = await waiting({escalate: {role: 'head', afterMs: 20_000}})
    await decide(server, lea, item.approval, {...approve, verdict: 'reject'})
    servers.environment.advance(70_000)
    await server.start()
    await server.idle()
    await server.close()
    expect(await told()).toEqual(['approval.requested', 'approval.rejected'])
  })
})
