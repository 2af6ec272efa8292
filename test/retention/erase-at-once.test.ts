import {beforeAll, expect, test} from 'vitest'
import type {ErasureReceipt} from '../../runtime/protocol/erasure.ts'
import {openPgStore, type Sql, type Store} from '../../sync-server/index.ts'
import {openPostgres} from '../../sync-server/postgres.ts'
import {realPostgres} from '../support/real-postgres.ts'
import {call, type Who} from '../sync-server/support/caller.ts'
import {decide, deskServers, inbox} from '../sync-server/support/desk-server.ts'
import {testDevice} from '../sync-server/support/device.ts'

const postgres = realPostgres()
let store: Store
beforeAll(async () => {
  store = await openPgStore(postgres().sql)
})
const servers = deskServers({
  get sql() {
    return postgres().sql
  },
  get store() {
    return store
  },
})

/** Each transaction rests after its first lock of sessions until the other has one too or waits for one. */
function meeting(sql: Sql, watch: Sql): Sql {
  let locked = 0
  const met = async () => {
    locked += 1
    await expect
      .poll(async () => {
        const [row] = await watch.query<{waiting: string}>(
          `SELECT COUNT(*) AS waiting FROM pg_stat_activity WHERE wait_event_type = 'Lock'`,
        )
        return locked === 2 || Number(row?.waiting) > 0
      })
      .toBe(true)
  }
  return {
    query: (text, params) => sql.query(text, params),
    transaction: work =>
      sql.transaction(tx => {
        let rested = false
        return work({
          query: async (text, params) => {
            const rows = await tx.query(text, params)
            if (rested || !/FROM hf_sessions[\s\S]*ORDER BY id FOR UPDATE/.test(text)) return rows as never
            rested = true
            await met()
            return rows as never
          },
        })
      }),
  }
}

test('[RET-2] two people who decided for each other are erased at the same time', async () => {
  const tenant = 'erase-at-once'
  const lead = (subject: string): Who => ({tenant, subject, roles: ['lead']})
  const [ana, lea] = [lead('ana'), lead('lea')]
  const approval = {role: 'lead', reason: 'large', expiresInMs: 60_000, requesterMayDecide: false}
  const operations = servers.desk.operation({authorise: () => ({approval})})
  const server = servers.server({operations})
  for (const [requester, approver] of [
    [ana, lea],
    [lea, ana],
  ] as const) {
    const device = testDevice(requester)
    await device.push(server, [device.open(), ...device.refund({orderId: 'A1', cents: 6000}).events])
    await server.idle()
    const [item] = await inbox(server, approver)
    await decide(server, approver, item!.approval, {verdict: 'reject', digest: item!.digest, note: 'No.'})
  }
  const second = await openPostgres({url: postgres().url})
  const both = servers.server({operations, store: await openPgStore(meeting(second.sql, postgres().sql))})
  const receipts = await Promise.all(
    [ana, lea].map(who => call<ErasureReceipt>(both, who, '/v1/erasures', {subject: who.subject})),
  )
  expect(receipts.map(({status}) => status)).toEqual([200, 200])
  await both.close()
  await second.close()
})
