import {beforeAll, expect, test} from 'vitest'
import {openPgStore, type Store} from '../../sync-server/index.ts'
import {openPostgres} from '../../sync-server/postgres.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {deskServers, told} from './support/desk-server.ts'
import {testDevice} from './support/device.ts'

const postgres = realPostgres()
const stores: Store[] = []
beforeAll(async () => {
  stores.push(await openPgStore(postgres().sql))
})
const servers = deskServers({
  get sql() {
    return postgres().sql
  },
  get store() {
    return stores[0]!
  },
})

test('[OP-3] on one Postgres two processes that start at once take only as many places as there are, each once', async () => {
  const second = await openPostgres({url: postgres().url})
  const who = {tenant: 'together', subject: 'ana'}
  const operations = servers.desk.operation({limits: [{kind: 'rate', starts: 5, inMs: 3_600_000}]})
  const both = [stores[0]!, await openPgStore(second.sql)].map(store =>
    servers.server({store, operations, sharesDatabase: true}),
  )
  for (const server of both) await server.start()
  const made = await Promise.all(
    Array.from({length: 16}, async (_, n) => {
      const device = testDevice(who)
      const refund = device.refund({orderId: 'A1', cents: 5})
      await device.push(both[n % 2]!, [device.open(), ...refund.events])
      return {device, refund}
    }),
  )
  // Each looks for what is due as well, while the other is at it.
  await Promise.all(both.map(server => server.sweep()))
  for (const server of both) await server.idle()
  const ends = await Promise.all(made.map(async ({device}) => (await told(both[0]!, who, device.session)).at(-1)))
  expect(ends.filter(end => end === 'operation.executed')).toHaveLength(5)
  expect(ends.filter(end => end === 'operation.refused')).toHaveLength(11)
  const paid = await Promise.all(made.map(({refund}) => servers.desk.payments(refund.operation)))
  expect(paid.flat()).toHaveLength(5)
  for (const server of both) await server.close()
  await second.close()
})
