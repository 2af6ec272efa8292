import {beforeAll, describe, expect, test} from 'vitest'
import type {Json} from '../../runtime/protocol/json.ts'
import type {DataLayer, SyncServer} from '../../sync-server/index.ts'
import {subjectTables} from '../../sync-server/storage/subject-records.ts'
import {everyByte, refOf} from '../support/blobs.ts'
import {rowsByTable} from '../support/scan-database.ts'
import {putBlob} from '../sync-server/support/blob-calls.ts'
import {call, headersOf, type Who} from '../sync-server/support/caller.ts'
import {testDatabase} from '../sync-server/support/database.ts'
import {decide, deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const database = testDatabase()
const servers = deskServers(database)
const ana: Who = {tenant: 'acme', subject: 'ana/über'}
const lead: Who = {tenant: 'acme', subject: 'lea', roles: ['lead']}
const operator: Who = {tenant: 'acme', subject: 'olga', roles: ['operator']}
let server: SyncServer

/** Bookkeeping of no subject's, and work that is still to be done about records that are exported themselves. */
const elsewhere = ['hf_migrations', 'hf_model_tenants', 'hf_tool_locks', 'hf_due']
/** Exported, but filled only by what this test does not do. */
const unfilled = subjectTables
  .map(({name}) => name)
  .filter(name => /^hf_(model|memory|agent|active|delegations|approver)/.test(name))

const notebook: DataLayer = {
  name: 'notebook',
  derived: true,
  erase: async () => 0,
  records: async function* ({subject}) {
    yield {remembered: `of ${subject}`}
  },
}

beforeAll(async () => {
  server = servers.server({layers: [notebook]})
  for (const who of [ana, {tenant: 'acme', subject: 'eve'}, {tenant: 'other', subject: ana.subject}]) {
    const device = testDevice(who)
    const refund = device.refund({orderId: 'A1', cents: 6000})
    await device.push(server, [device.open(), ...refund.events])
    await server.idle()
    await putBlob(server, who, device.session, refOf(everyByte).$blob, everyByte)
    await device.push(server, [device.post('Half a character: \ud800, and \0.')])
    const gone = testDevice(who)
    await gone.push(server, [gone.open()])
    await call(server, who, `/v1/sessions?device=${device.device}`)
    await call(server, who, '/v1/revocations', {subject: who.subject, token: 'a-lost-one'})
    await call(server, who, '/v1/erasures', {session: gone.session})
  }
  for (const item of await inbox(server, lead)) {
    await decide(server, lead, item.approval, {verdict: 'approve', digest: item.digest})
  }
  const many = testDevice(ana)
  await many.push(server, [many.open(), ...Array.from({length: 450}, (_, i) => many.post(`Message ${i}`))])
})

type Line = {layer: string; record: Record<string, Json>}
async function exported(who: Who, subject = 'me', by = server) {
  const response = await by.app.request(`/v1/subjects/${encodeURIComponent(subject)}/export`, {headers: headersOf(who)})
  const text = await response.text()
  if (response.status !== 200) return {status: response.status, text, lines: [], head: null, end: null}
  const all = text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  return {status: 200, text, head: all[0], lines: all.slice(1, -1) as Line[], end: all.at(-1)}
}

describe('the export of a subject', () => {
  test('[RET-2] holds every row of every table that is about the subject, and nothing of anybody else', async () => {
    const {head, lines, end} = await exported(ana)
    expect(head).toMatchObject({holdfast: 'export', version: 1, tenant: 'acme', subject: ana.subject})
    const sessions = lines.flatMap(({layer, record}) => (layer === 'sessions' ? [String(record.id)] : []))
    const isMine = (row: string) =>
      (JSON.parse(row) as {tenant?: string}).tenant === 'acme' &&
      (row.includes(`"${ana.subject}"`) || sessions.some(id => row.includes(id)))
    for (const [name, rows] of await rowsByTable(database.db)) {
      if (!name.startsWith('hf_') || elsewhere.includes(name)) continue
      const layer = subjectTables.find(table => table.name === name)?.layer
      const mine = rows.filter(isMine)
      expect([name, lines.filter(line => line.layer === layer).length]).toEqual([name, mine.length])
      expect([name, end.records[layer ?? ''] ?? 0]).toEqual([name, mine.length])
      if (unfilled.includes(name)) continue
      expect(mine.length, `the test puts nothing of its subject into ${name}`).toBeGreaterThan(0)
    }
    for (const {record} of lines) expect(record.tenant ?? 'acme').toBe('acme')
    expect(lines.filter(({layer}) => layer === 'notebook')).toEqual([
      {layer: 'notebook', record: {remembered: `of ${ana.subject}`}},
    ])
    const blob = lines.find(({layer}) => layer === 'blobs')?.record
    expect([blob?.id, [...Buffer.from(String(blob?.bytes), 'base64')]]).toEqual([
      refOf(everyByte).$blob,
      [...everyByte],
    ])
    const said = lines.find(({layer, record}) => layer === 'events' && JSON.stringify(record.body).includes('Half'))
    expect(said?.record.body).toMatchObject({data: {text: 'Half a character: \ud800, and \0.'}})
  })

  test('[RET-2] holds the approvals that the subject only endorsed, with what everybody said', async () => {
    const endorser = {tenant: 'acme', subject: 'zoë "z"'}
    const said = [{by: endorser.subject, note: 'Fine.', at: 1}]
    await database.db.query(`UPDATE hf_approvals SET endorsements = $1 WHERE tenant = 'acme' AND requested_by = $2`, [
      JSON.stringify(said),
      ana.subject,
    ])
    const {lines} = await exported(endorser)
    expect(lines.filter(({layer}) => layer === 'approvals').map(({record}) => record.endorsements)).toEqual([said])
    expect((await exported({...endorser, subject: 'zoë'})).lines.filter(({layer}) => layer === 'approvals')).toEqual([])
  })

  test('[ID-4] is for the subject and for an operator of the tenant, which is audited', async () => {
    for (const who of [{tenant: 'acme', subject: 'eve'}, lead]) {
      const foreign = await exported(who, ana.subject)
      expect([foreign.status, foreign.text]).toEqual([403, (await exported(who, 'nobody')).text])
    }
    const own = await exported(ana)
    const theirs = await exported(operator, ana.subject)
    expect(theirs.lines.filter(({layer}) => layer !== 'audit')).toEqual(
      own.lines.filter(({layer}) => layer !== 'audit'),
    )
    const audit = await database.store.audit.about('acme' as never, ana.subject)
    expect(audit.filter(({action}) => action === 'subject.exported')).toMatchObject([{subject: 'olga'}])
    expect(
      (await exported({...operator, tenant: 'other'}, 'eve')).lines.filter(({layer}) => layer !== 'notebook'),
    ).toEqual(
      (await database.store.audit.about('other' as never, 'eve')).map(() => expect.objectContaining({layer: 'audit'})),
    )
  })

  test('a file that was cut off has no last line, and the operator of the server hears why', async () => {
    const faults: unknown[] = []
    const broken: DataLayer = {
      ...notebook,
      records: async function* () {
        yield {}
        throw new Error('the disk is gone')
      },
    }
    const {end} = await exported(ana, 'me', servers.server({layers: [broken], onFault: fault => faults.push(fault)}))
    expect(end).not.toHaveProperty('end')
    expect(faults).toHaveLength(1)
  })
})
