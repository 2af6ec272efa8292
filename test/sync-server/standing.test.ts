import {expect, test} from 'vitest'
import {effectKinds, type StandingEffects} from '../../runtime/protocol/standing-effects.ts'
import {openPgStore, type Sql, type SyncServer} from '../../sync-server/index.ts'
import {migrations} from '../../sync-server/storage/migrations.ts'
import type {SqlQuery} from '../../sync-server/storage/sql.ts'
import {call} from './support/caller.ts'
import {testDatabase} from './support/database.ts'
import {deskServers} from './support/desk-server.ts'
import {type TestDevice, testDevice} from './support/device.ts'

const database = testDatabase()
const servers = deskServers(database)

/** The same database, with a count of the statements and of the rows that they gave. */
function counting(sql: Sql) {
  const count = {statements: 0, rows: 0}
  const counted = ({query}: SqlQuery): SqlQuery => ({
    query: async (text, params) => {
      const rows = await query(text, params)
      count.statements += 1
      count.rows += rows.length
      return rows as never
    },
  })
  const all: Sql = {...counted(sql), transaction: work => sql.transaction(tx => work(counted(tx)))}
  return {count, sql: all}
}

async function refunded(server: SyncServer, messages: number): Promise<TestDevice> {
  const device = testDevice({tenant: 'standing', subject: 'ana'})
  await device.push(server, [device.open(), ...device.refund({orderId: 'A1', cents: 5}).events])
  await server.idle()
  for (let sent = 0; sent < messages; sent += 400) {
    await device.push(
      server,
      Array.from({length: Math.min(400, messages - sent)}, (_, i) => device.post(`message ${i}`)),
    )
  }
  return device
}

test('[RUN-6] what a branch does not undo is found by the effects alone, however long the transcript is', async () => {
  const {count, sql} = counting(database.sql)
  const server = servers.server({store: await openPgStore(sql)})
  const [short, long] = [await refunded(server, 1), await refunded(server, 1200)]
  const cost = async (device: TestDevice) => {
    const before = {...count}
    const {body} = await call<StandingEffects>(server, device.who, `/v1/sessions/${device.session}/effects?after=1`)
    expect(body.effects).toMatchObject([{tool: 'refundOrder', status: 'executed'}])
    return {statements: count.statements - before.statements, rows: count.rows - before.rows}
  }
  const cheap = await cost(short)
  // Proposed, started and executed, looks at the session, and a row for each statement that sets the tenant.
  expect(cheap.rows).toBeGreaterThanOrEqual(3)
  expect(cheap.rows).toBeLessThan(30)
  expect(await cost(long)).toEqual(cheap)
})

test('the index of effects has exactly the kinds that are asked for', () => {
  const index = migrations.find(({name}) => name === 'effects')?.statements.join() ?? ''
  expect([...index.matchAll(/'([a-z.]+)'/g)].map(([, kind]) => kind)).toEqual([...effectKinds])
})
