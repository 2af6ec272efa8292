import {beforeAll, describe, expect, test} from 'vitest'
import type {SyncServer} from '../../sync-server/index.ts'
import {serverEnvironment as env} from '../../sync-server/index.ts'
import {migrations} from '../../sync-server/storage/migrations.ts'
import {approverDevice} from './support/approver-device.ts'
import {headersOf, type Who} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers, inbox} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const owner: Who = {tenant: 'acme', subject: 'ana'}
const lead: Who = {tenant: 'acme', subject: 'lea', roles: ['lead']}
const known = {session: '', run: '', approval: '', operation: '', delegation: '', key: ''}
let server: SyncServer

beforeAll(async () => {
  server = servers.server()
  const device = testDevice(owner)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const [item] = await inbox(server, lead)
  const lent = await ask(lead, {path: '/v1/delegations', body: {role: 'lead', to: 'max', until: Date.now() + 60_000}})
  const {delegation} = JSON.parse(lent.body)
  const {publicKey} = await approverDevice()
  const {key} = JSON.parse((await ask(lead, {path: '/v1/approver-keys', body: {publicKey, label: 'Phone'}})).body)
  const {operation} = await uncertain()
  Object.assign(known, {session: device.session, run: refund.run, approval: item?.approval, operation, delegation, key})
})

/** A small refund whose outcome nobody knows; a lead may say it. */
async function uncertain() {
  const execute = async () => {
    throw new Error('socket hang up')
  }
  const reconcile = async () => ({unknown: 'The bank is asleep.'})
  const operations = servers.desk.operation({execute, reconcile, verdictRole: 'lead'})
  const doubtful = servers.server({operations})
  const device = testDevice(owner)
  const refund = device.refund({orderId: 'A1', cents: 5})
  await device.push(doubtful, [device.open(), ...refund.events])
  await doubtful.idle()
  return refund
}

const unknown: Ids = {
  session: env.id('session'),
  run: env.id('run'),
  approval: env.id('approval'),
  operation: env.id('operation'),
  delegation: env.id('delegation'),
  key: env.id('key'),
}
type Ids = typeof known
const digest = '0'.repeat(64)

/** Every route that takes an id, as a request about these ids. */
const routes: [string, (ids: Ids) => {path: string; body?: unknown; answers?: number}][] = [
  ['push', ({session}) => ({path: `/v1/sessions/${session}/events`, body: {events: [{...pushed, session}]}})],
  [
    'push with one that is forged',
    ({session}) => ({
      path: `/v1/sessions/${session}/events`,
      body: {
        events: [
          {...pushed, session},
          {...pushed, session, seq: 1},
        ],
      },
      answers: 200,
    }),
  ],
  ['pull', ({session}) => ({path: `/v1/sessions/${session}/events?after=0`})],
  [
    'custody',
    ({session}) => ({path: `/v1/sessions/${session}/custody`, body: {device: env.id('device'), sawEpoch: 1}}),
  ],
  ['passport', ({run}) => ({path: `/v1/runs/${run}/passport`})],
  ['decision', ({approval}) => ({path: `/v1/approvals/${approval}/decision`, body: {verdict: 'approve', digest}})],
  [
    'redemption',
    ({approval, key}) => ({
      path: `/v1/approvals/${approval}/redemption`,
      body: {
        intent: {approval, key, digest, verdict: 'approve', at: 1, nonce: '0'.repeat(32)},
        signature: 'AAAA',
      },
      // A key that is not the caller's is refused before the approval is looked at.
      answers: 403,
    }),
  ],
  [
    'verdict',
    ({operation}) => ({path: `/v1/operations/${operation}/verdict`, body: {happened: true, digest, receipt: 'R'}}),
  ],
  ['delegation', ({delegation}) => ({path: `/v1/delegations/${delegation}/revocation`, body: {}})],
  ['key', ({key}) => ({path: `/v1/approver-keys/${key}/revocation`, body: {}})],
]
const pushed = {
  ...testDevice(owner).event('document.updated', {document: 'draft', update: ''}),
  actor: {type: 'agent', name: 'desk'},
}

async function ask(who: Who, {path, body}: {path: string; body?: unknown}) {
  const init = body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)}
  const response = await server.app.request(path, {headers: headersOf(who), ...init})
  return {status: response.status, body: await response.text(), headers: [...response.headers]}
}

describe('strangers', () => {
  const strangers: [string, Who][] = [
    ['another subject of the tenant', {tenant: 'acme', subject: 'eve'}],
    ['the same subject name in another tenant', {tenant: 'other', subject: 'ana'}],
    ['a lead of another tenant', {tenant: 'other', subject: 'lea', roles: ['lead']}],
  ]
  test.each(strangers.flatMap(([name, who]) => routes.map(([route, of]) => ({name, who, route, of}))))(
    '[ID-4] $route by $name: an id that exists answers exactly like one that does not',
    async ({who, of}) => {
      const real = await ask(who, of(known))
      expect(real).toEqual(await ask(who, of(unknown)))
      expect(real.status).toBe(of(known).answers ?? 404)
    },
  )

  test.each(['/v1/sessions', '/v1/approvals?status=all', '/v1/delegations', '/v1/approver-keys'])(
    '[RET-5] %s shows a stranger nothing',
    async path => {
      for (const [, who] of strangers) expect((await ask(who, {path})).body).toMatch(/^\{"\w+":\[\](,"\w+":\[\])*\}$/)
    },
  )

  test.each([
    ['/v1/sessions/ana/events', 'session'],
    [`/v1/sessions/${env.id('run')}/events`, 'session'],
    ['/v1/sessions/acme/custody', 'session'],
    ['/v1/runs/1/passport', 'run'],
    ['/v1/approvals/%00/decision', 'approval'],
    ['/v1/operations/opn_1/verdict', 'operation'],
    ['/v1/delegations/x/revocation', 'delegation'],
    ['/v1/approver-keys/x/revocation', 'key'],
  ])('[ID-2] an id of no such kind in %s is bad input that names the field', async (path, field) => {
    const body = /(custody|decision|verdict|revocation)$/.test(path) ? {} : undefined
    const answer = await ask(owner, {path, ...(body && {body})})
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body).error).toMatchObject({code: 'bad_input', details: {what: field}})
  })

  test('[RET-5] every table has its tenant, in its key', () => {
    const tables = migrations.flatMap(({statements}) => statements).filter(sql => sql.startsWith('CREATE TABLE'))
    for (const table of tables)
      expect(table).toMatch(/tenant TEXT NOT NULL[\s\S]*PRIMARY KEY \(tenant, |tenant TEXT PRIMARY KEY/)
    expect(tables.length).toBeGreaterThanOrEqual(10)
  })

  test('[RET-5] every statement names its tenant, but for the two looks at what is due', async () => {
    const seen: string[] = []
    const {openPgStore, pgliteSql} = await import('../../sync-server/index.ts')
    const sql = pgliteSql(database.db)
    const spy = (text: string) => {
      if (/hf_(sessions|events|runs|operations|approvals|audit|memory|due|delegations|approver_keys)/.test(text)) {
        seen.push(text)
      }
    }
    const store = await openPgStore({
      query: (text, params) => {
        spy(text)
        return sql.query(text, params)
      },
      transaction: work =>
        sql.transaction(tx =>
          work({
            query: (text, params) => {
              spy(text)
              return tx.query(text, params)
            },
          }),
        ),
    })
    const watched = servers.server({store})
    const device = testDevice({tenant: 'spied', subject: 'ana'})
    const refund = device.refund({orderId: 'A1', cents: 6000})
    await device.push(watched, [device.open(), ...refund.events])
    await watched.start()
    await watched.idle()
    await ask(owner, {path: '/v1/sessions'})
    await device.push(watched, [device.post('Stop.')])
    await watched.close()
    const nameless = seen.filter(text => !/tenant = \$1|\(tenant, /.test(text))
    expect(seen.length).toBeGreaterThan(15)
    for (const text of nameless) expect(text).toMatch(/^UPDATE hf_due SET leased_until = 0, due_at = CASE/)
  })
})
