import {beforeAll, describe, expect, test} from 'vitest'
import type {ErrorBody} from '../../runtime/protocol/errors.ts'
import type {SessionList} from '../../runtime/protocol/wire.ts'
import type {DataLayer, Retention} from '../../sync-server/index.ts'
import {retentionOf} from '../../sync-server/retention.ts'
import {proposalOf, teller} from '../memory/support/teller.ts'
import {rowsByTable, tablesWith} from '../support/scan-database.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {decide, deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const lead: Who = {tenant: 'acme', subject: 'lea', roles: ['lead']}
const day = 86_400_000
let people = 0
const served = (retention: Partial<Retention>, layers: DataLayer[] = []) => servers.server({retention, layers})

/** A paid refund, at rest. */
async function paidSession() {
  const server = served({})
  const who = {tenant: 'acme', subject: `person-${++people}`}
  const device = testDevice(who)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const item = (await inbox(server, lead)).find(({operation}) => operation === refund.operation)
  await decide(server, lead, item?.approval ?? '', {verdict: 'approve', digest: item?.digest ?? ''})
  await server.idle()
  return {who, device, operation: refund.operation, approval: item?.approval ?? ''}
}

const statusOf = async (of: Awaited<ReturnType<typeof paidSession>>) =>
  (await call<{error?: ErrorBody}>(served({}), of.who, `/v1/sessions/${of.device.session}/events`)).status
const ledgerRow = (of: Awaited<ReturnType<typeof paidSession>>) =>
  database.store.ledger.operation({tenant: 'acme', operation: of.operation} as never)

describe('retention', () => {
  beforeAll(async () => {
    await paidSession()
  })

  test('[LOG-1] without a rule nothing is shortened, however long it rests', async () => {
    const before = await rowsByTable(database.db)
    servers.environment.advance(40_000 * day)
    await served({}).sweep()
    const after = await rowsByTable(database.db)
    servers.environment.advance(-40_000 * day)
    expect(after).toEqual(before)
  })

  test('[RET-1] a session that rested for its time is erased with a tombstone, and its devices are told why', async () => {
    const old = await paidSession()
    servers.environment.advance(20 * day)
    const young = await paidSession()
    servers.environment.advance(11 * day)
    const server = served({transcripts: {days: 30}})
    await server.sweep()
    expect([await statusOf(old), await statusOf(young)]).toEqual([410, 200])
    const list = await call<SessionList>(server, old.who, `/v1/sessions?device=${old.device.device}`)
    expect(list.body).toMatchObject({sessions: [], erased: [{sessions: [old.device.session], why: 'retention'}]})
    const entries = await database.db.query('SELECT 1 FROM hf_audit WHERE subject = $1', ['holdfast:retention'])
    expect(entries.rows.length).toBeGreaterThan(0)
  })

  test('[RET-1] a session that was touched again while the sweep looked at it stays', async () => {
    const busy = await paidSession()
    const idleSince = servers.environment.now() - 10 * day
    const order = {id: servers.environment.id('erasure'), tenant: 'acme', by: null, at: 0, of: null, derived: false}
    const target = {session: busy.device.session, branches: 'keep', idleSince}
    expect(await database.store.erasures.begin({...order, ...target} as never)).toBeNull()
    expect(await statusOf(busy)).toBe(200)
  })

  test('[RET-1] receipts and audit survive the transcript and go by rules of their own', async () => {
    const paid = await paidSession()
    servers.environment.advance(31 * day)
    const rules = {transcripts: {days: 30}, receipts: {days: 100}, audit: {days: 60}}
    await served(rules).sweep()
    const audit = () => database.store.audit.about('acme' as never, paid.approval)
    expect(await statusOf(paid)).toBe(410)
    expect(await ledgerRow(paid)).toMatchObject({status: 'executed', outcome: {cents: 6000}})
    expect(await audit()).toHaveLength(1)
    servers.environment.advance(30 * day)
    await served(rules).sweep()
    expect([(await audit()).length, (await ledgerRow(paid))?.status]).toEqual([0, 'executed'])
    servers.environment.advance(40 * day)
    await served(rules).sweep()
    expect(await ledgerRow(paid)).toBeNull()
    expect(await statusOf(paid)).toBe(410)
  })

  test('[RET-1] a receipt whose transcript is still there stays with it', async () => {
    const paid = await paidSession()
    servers.environment.advance(200 * day)
    await served({receipts: {days: 100}}).sweep()
    expect(await ledgerRow(paid)).toMatchObject({status: 'executed'})
  })

  test('[RET-1] a memory that nobody touched for the time of its rule is forgotten, words and all; newer ones stay', async () => {
    const server = servers.server({
      memory: {policy: () => ({accept: 'told in these words'})},
      retention: {memory: {days: 30}},
    })
    const maya = teller(server, {tenant: 'acme', subject: 'maya-kept'})
    const old = await maya.said('Something about deliveries.')
    const proposal = proposalOf(old, {text: 'Wants basalt-coloured parcels.'})
    await maya.propose([proposal])
    servers.environment.advance(20 * day)
    const newer = await maya.told('Prefers quartz lanterns.')
    servers.environment.advance(11 * day)
    await server.sweep()
    expect(await maya.item(proposal.id)).toMatchObject({status: 'forgotten'})
    expect(await tablesWith(database.db, 'basalt-coloured')).toEqual([])
    expect(await maya.item(newer)).toMatchObject({status: 'accepted'})
  })

  test('[RET-1] layers beside the store end by the rule that they name', async () => {
    const ended: [string, number][] = []
    const layer = (name: string, rule: 'tokenStreams' | 'memory' | 'views'): DataLayer => ({
      name,
      erase: async () => 0,
      expiry: {
        rule,
        before: async cutoff => {
          ended.push([name, Math.round((servers.environment.now() - cutoff) / day)])
          return 0
        },
      },
      records: async function* () {},
    })
    const layers = [layer('tokens', 'tokenStreams'), layer('memory', 'memory'), layer('traces', 'views')]
    await served({}, layers).sweep()
    expect(ended).toEqual([['tokens', 1]])
    await served({memory: {days: 365}, views: {days: 7}, tokenStreams: {days: 2}}, layers).sweep()
    expect(ended.slice(1)).toEqual([
      ['tokens', 2],
      ['memory', 365],
      ['traces', 7],
    ])
  })

  test.each([
    [{transcripts: {days: 0}}, 'retention.transcripts: expected a positive number of days'],
    [{memory: {days: Number.NaN}}, 'retention.memory'],
    [{transcripts: {days: 30}, receipts: {days: 29}}, 'retention.receipts: expected at least as long as transcripts'],
    [{audit: {days: 1}, transcripts: {days: 2}}, 'retention.audit'],
  ])('[RET-1] %j cannot be kept and is refused by name', (given, message) => {
    expect(() => retentionOf(given)).toThrow(message)
  })
})
