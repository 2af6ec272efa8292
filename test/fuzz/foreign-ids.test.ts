import fc from 'fast-check'
import {beforeAll, describe, expect, test} from 'vitest'
import type {Delegation} from '../../runtime/protocol/delegation.ts'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import type {EventId} from '../../runtime/protocol/ids.ts'
import type {ApproverKey} from '../../runtime/protocol/intent.ts'
import {serverEnvironment as env, type SyncServer} from '../../sync-server/index.ts'
import {proposalOf} from '../memory/support/teller.ts'
import {approverDevice} from '../sync-server/support/approver-device.ts'
import {call, headersOf, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'
import {readStream} from '../sync-server/support/read-stream.ts'

const database = testDatabase()
const servers = deskServers(database)
let server: SyncServer

/** Everything of one owner that a request could name. */
type Ids = {
  session: string
  gone: string
  run: string
  approval: string
  operation: string
  delegation: string
  key: string
  memory: string
  erasure: string
  subject: string
  fact: string
}
type Asked = {path: string; body?: unknown}
const owners: {who: Who; ids: Ids}[] = []

/** `ids` are an owner's or nobody's; `own` is what the caller has itself, the same in both questions. */
type Own = {event: string; device: string}
const pushed = (session: string, {event, device}: Own, more: object = {}) => ({
  ...{id: event, session, seq: null, device, deviceSeq: 1, kind: 'document.updated', at: 1, v: 1},
  ...{data: {document: 'draft', update: ''}, actor: {type: 'agent', name: 'desk'}},
  ...more,
})

/** How to ask about somebody's records on every route; a route that is not here fails the first test. */
const routes: Record<string, ((ids: Ids, own: Own) => Asked)[]> = {
  'POST /v1/sessions/:session/events': [
    ({session}, own) => ({path: `/v1/sessions/${session}/events`, body: {events: [pushed(session, own)]}}),
    ({gone}, own) => ({path: `/v1/sessions/${gone}/events`, body: {events: [pushed(gone, own)]}}),
    ({session}, own) => ({path: `/v1/sessions/${session}/events`, body: {events: [pushed(session, own, {seq: 1})]}}),
  ],
  'GET /v1/sessions/:session/events': [
    ({session}) => ({path: `/v1/sessions/${session}/events`}),
    ({session}) => ({path: `/v1/sessions/${session}/events?after=1`}),
    ({gone}) => ({path: `/v1/sessions/${gone}/events`}),
  ],
  'POST /v1/sessions/:session/custody': [
    ({session}, {device}) => ({path: `/v1/sessions/${session}/custody`, body: {device, sawEpoch: 1}}),
    ({gone}, {device}) => ({path: `/v1/sessions/${gone}/custody`, body: {device, sawEpoch: 0}}),
  ],
  'POST /v1/approvals/:approval/decision': [
    ({approval}) => ({
      path: `/v1/approvals/${approval}/decision`,
      body: {verdict: 'approve', digest: '0'.repeat(64)},
    }),
  ],
  'POST /v1/approvals/:approval/redemption': [
    ({approval, key}) => ({
      path: `/v1/approvals/${approval}/redemption`,
      body: {
        intent: {approval, verdict: 'approve', digest: '0'.repeat(64), key, at: 1, nonce: '0'.repeat(32)},
        signature: 'AAAA',
      },
    }),
  ],
  'POST /v1/operations/:operation/verdict': [
    ({operation}) => ({
      path: `/v1/operations/${operation}/verdict`,
      body: {happened: false, digest: '0'.repeat(64), reason: 'It is not there.'},
    }),
  ],
  'POST /v1/delegations/:delegation/revocation': [
    ({delegation}) => ({path: `/v1/delegations/${delegation}/revocation`, body: {}}),
  ],
  'POST /v1/approver-keys/:key/revocation': [({key}) => ({path: `/v1/approver-keys/${key}/revocation`, body: {}})],
  'POST /v1/memory/items/:memory/change': [
    ({memory}) => ({path: `/v1/memory/items/${memory}/change`, body: {do: 'forget'}}),
  ],
  'GET /v1/sessions/:session/effects': [
    ({session}) => ({path: `/v1/sessions/${session}/effects?after=1`}),
    ({gone}) => ({path: `/v1/sessions/${gone}/effects`}),
  ],
  'GET /v1/runs/:run/export': [({run}) => ({path: `/v1/runs/${run}/export`})],
  'POST /v1/runs/:run/cancel': [({run}, {event}) => ({path: `/v1/runs/${run}/cancel`, body: {event}})],
  'POST /v1/runs/:run/retry': [({run}, {event}) => ({path: `/v1/runs/${run}/retry`, body: {event}})],
  'POST /v1/runs/:run/wake': [({run}) => ({path: `/v1/runs/${run}/wake`, body: {note: 'The parcel is here.'}})],
  'GET /v1/models/streams/:key': [
    ({run}, {device}) => ({path: `/v1/models/streams/${run}.${device.replace('dev_', 'stp_')}.1.1`}),
  ],
  'GET /v1/runs/:run/passport': [({run}) => ({path: `/v1/runs/${run}/passport`})],
  'GET /v1/facts/:key{.+}': [({fact}) => ({path: `/v1/facts/${encodeURIComponent(fact)}`})],
  'POST /v1/erasures': [
    ({session}) => ({path: '/v1/erasures', body: {session}}),
    ({gone}) => ({path: '/v1/erasures', body: {session: gone}}),
    ({subject}) => ({path: '/v1/erasures', body: {subject}}),
  ],
  'GET /v1/erasures/:erasure': [({erasure}) => ({path: `/v1/erasures/${erasure}`})],
  'POST /v1/erasures/purged': [
    ({erasure}, {device}) => ({path: '/v1/erasures/purged', body: {device, erasures: [erasure]}}),
  ],
  'POST /v1/revocations': [({subject}) => ({path: '/v1/revocations', body: {subject}})],
  'GET /v1/subjects/:subject/export': [({subject}) => ({path: `/v1/subjects/${subject}/export`})],
}

/** Routes that name nobody's record: what they list must hold nothing of anybody else. */
const lists: Record<string, string[]> = {
  'GET /v1/sessions': ['/v1/sessions', `/v1/sessions?device=${env.id('device')}`],
  'GET /v1/approvals': ['/v1/approvals', '/v1/approvals?status=all'],
  'GET /v1/delegations': ['/v1/delegations'],
  'GET /v1/approver-keys': ['/v1/approver-keys'],
  'GET /v1/memory/items': ['/v1/memory/items'],
  // These write for the caller alone, or answer from its own memory; they name no record.
  'POST /v1/delegations': [],
  'POST /v1/approver-keys': [],
  'POST /v1/memory/proposals': [],
  'POST /v1/memory/recall': [],
  'GET /v1/models': ['/v1/models'],
  'GET /v1/usage': ['/v1/usage'],
  'GET /v1/agents': ['/v1/agents'],
  // An agent is named by its tenant: what another tenant has published is told apart where agents are tested.
  'POST /v1/agents/:name/versions': [],
  'POST /v1/agents/:name/active': [],
  'POST /v1/models/:name/stream': [],
  // Says again which keys were asked for, so that no two answers are alike: asked in test/runtime/facts.test.ts.
  'POST /v1/facts': [],
  'GET /v1/live': [],
  'GET /v1/audit': [],
}

const tenants = ['acme', 'other']
const strangers: Who[] = [
  {tenant: 'acme', subject: 'eve'},
  {tenant: 'other', subject: 'eve', roles: ['lead', 'auditor']},
  {tenant: 'third', subject: 'ana', roles: ['lead', 'auditor']},
  {tenant: 'third', subject: 'bob', roles: []},
]

beforeAll(async () => {
  server = servers.server()
  for (const tenant of tenants) {
    for (const subject of ['ana', 'bob']) {
      const who = {tenant, subject}
      const device = testDevice(who)
      const refund = device.refund({orderId: 'A1', cents: 6000})
      await device.push(server, [device.open(), ...refund.events])
      await server.idle()
      const item = (await inbox(server, {...who, roles: ['lead']})).find(({run}) => run === refund.run)
      const gone = testDevice(who)
      await gone.push(server, [gone.open()])
      const {body} = await call<ErasureReceipt>(server, who, '/v1/erasures', {session: gone.session})
      const fact = `order/${tenant}-${subject}`
      const lent = {role: 'lead', to: 'dana', until: Date.now() + 3_600_000}
      const {body: delegation} = await call<Delegation>(server, {...who, roles: ['lead']}, '/v1/delegations', lent)
      const {publicKey} = await approverDevice()
      const {body: added} = await call<ApproverKey>(server, who, '/v1/approver-keys', {publicKey, label: 'Phone'})
      const proposal = proposalOf({session: device.session, event: refund.events[0]?.id as EventId})
      await call(server, who, '/v1/memory/proposals', {proposals: [proposal]})
      servers.desk.setOrder(tenant, `${tenant}-${subject}`, 'delivered', '1')
      owners.push({
        who,
        ids: {
          ...{session: device.session, gone: gone.session, run: refund.run, erasure: body.erasure, fact},
          ...{approval: item?.approval ?? '', operation: item?.operation ?? '', subject},
          ...{delegation: delegation.delegation, key: added.key, memory: proposal.id},
        },
      })
    }
  }
})

const nobody = (): Ids => ({
  ...{session: env.id('session'), gone: env.id('session'), run: env.id('run'), approval: env.id('approval')},
  ...{operation: env.id('operation'), delegation: env.id('delegation'), key: env.id('key')},
  ...{
    memory: env.id('memory'),
    erasure: env.id('erasure'),
    subject: `nobody-${env.id('event').slice(-6)}`,
    fact: 'order/none',
  },
})

async function ask(who: Who, {path, body}: Asked) {
  const init = body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}
  const response = await server.app.request(path, {headers: headersOf(who), ...init})
  return {status: response.status, body: await response.text(), headers: [...response.headers]}
}

/** An operator of the tenant may see it, and whoever it belongs to is no stranger to it. */
function mayKnow(caller: Who, owner: Who): boolean {
  if (caller.tenant !== owner.tenant) return false
  return caller.subject === owner.subject || (caller.roles ?? []).length > 0
}

describe('somebody else’s ids', () => {
  test('[RET-5] every route of the server is asked', () => {
    const registered = server.app.routes
      .filter(({method, path}) => method !== 'ALL' && path.startsWith('/v1/'))
      .map(({method, path}) => `${method} ${path}`)
    expect([...new Set(registered)].sort()).toEqual([...Object.keys(routes), ...Object.keys(lists)].sort())
  })

  test.each(Object.entries(routes))(
    '[ID-4] %s answers about a foreign id exactly as about an unknown one, byte for byte',
    async (_, questions) => {
      for (const question of questions) {
        for (const {who: owner, ids} of owners) {
          for (const caller of strangers.filter(who => !mayKnow(who, owner))) {
            const own = {event: env.id('event'), device: env.id('device')}
            // These two are named by the application: a fact is its tenant's, and a name like one's own is one's own.
            const named = {
              fact: caller.tenant === owner.tenant ? 'order/none' : ids.fact,
              subject: caller.subject === ids.subject ? 'nobody' : ids.subject,
            }
            const foreign = await ask(caller, question({...ids, ...named}, own))
            expect(foreign).toEqual(await ask(caller, question(nobody(), own)))
          }
        }
      }
    },
  )

  test('[RET-5] asked at random, in any mixture of whose ids are whose, no answer tells one from another', async () => {
    const anything = fc.record({
      question: fc.constantFrom(...Object.values(routes).flat()),
      caller: fc.constantFrom(...strangers),
      mixture: fc.array(fc.nat(), {minLength: 6, maxLength: 6}),
    })
    await fc.assert(
      fc.asyncProperty(anything, async ({question, caller, mixture}) => {
        const foreign = owners.filter(({who}) => who.tenant !== caller.tenant)
        const pick = (index: number) => foreign[(mixture[index] ?? 0) % foreign.length]?.ids ?? nobody()
        const mixed: Ids = {
          ...{session: pick(0).session, gone: pick(1).gone, run: pick(2).run, approval: pick(3).approval},
          ...{operation: pick(3).operation, delegation: pick(4).delegation, key: pick(5).key, memory: pick(0).memory},
          ...{erasure: pick(4).erasure, fact: pick(5).fact, subject: 'nobody'},
        }
        const own = {event: env.id('event'), device: env.id('device')}
        expect(await ask(caller, question(mixed, own))).toEqual(
          await ask(caller, question({...nobody(), subject: 'nobody'}, own)),
        )
      }),
      {numRuns: 60, seed: 20261130},
    )
  })

  test.each(Object.entries(lists))('[RET-5] %s lists nothing of anybody else', async (_, paths) => {
    for (const path of paths) {
      for (const caller of strangers) {
        const {body} = await ask(caller, {path})
        for (const {who, ids} of owners.filter(({who}) => !mayKnow(caller, who))) {
          const {subject: _, fact: __, ...unguessable} = ids
          for (const id of Object.values(unguessable)) expect(body, `${who.subject}@${who.tenant}`).not.toContain(id)
        }
      }
    }
  })

  test('[RET-5] the audit of a tenant has nothing of another', async () => {
    const {body} = await ask({tenant: 'fourth', subject: 'aud', roles: ['auditor']}, {path: '/v1/audit'})
    expect(JSON.parse(body)).toEqual({entries: [], next: null})
  })

  test('[RET-5] a live stream says nothing of what others do', async () => {
    const caller = {tenant: 'acme', subject: 'eve', expiresAt: Date.now() + 60_000}
    const stream = readStream(await server.app.request('/v1/live', {headers: headersOf(caller)}))
    expect(await stream.next()).toEqual({type: 'hello'})
    for (const tenant of [...tenants, 'acme']) {
      const device = testDevice({tenant, subject: 'ana'})
      await device.push(server, [device.open(), device.post('Hello.')])
      await call(server, device.who, '/v1/erasures', {session: device.session})
    }
    const mine = testDevice(caller)
    await mine.push(server, [mine.open()])
    expect(await stream.next()).toEqual({type: 'head', session: mine.session, head: 1})
    await stream.cancel()
  })
})
