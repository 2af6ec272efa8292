import type {DataLayer, Sql} from '../../sync-server/index.ts'
import {shopTenant} from './facts.ts'

/** The reasons in the shop's refunds came from a conversation, and go with it. [RET-2] */
export function refundReasons(sql: Sql): DataLayer {
  return {
    name: 'refund reasons',
    kept: 'order, amount and time of each refund',
    erase: async ({tenant, subject, sessions, whole}) => {
      if (tenant !== shopTenant) return 0
      const places = [
        ...sessions.map(session => ['session', session]),
        ...(whole ? [['subject', subject]] : []),
      ] as const
      let erased = 0
      for (const [column, id] of places) {
        const rows = await sql.query(
          `update shop.refunds set reason = '' where reason <> '' and operation in (
             select operation from shop.claims where ${column} = $1) returning operation`,
          [id ?? ''],
        )
        erased += rows.length
      }
      return erased
    },
    rewriteFiles: async () => {
      await sql.query('vacuum (full) shop.refunds')
    },
    records: async function* ({tenant, subject}) {
      if (tenant !== shopTenant) return
      const rows = await sql.query<{refund: string; order: string; cents: number; reason: string}>(
        `select r.receipt as refund, r.order_id as order, r.cents, r.reason from shop.refunds r
           join shop.claims c on c.operation = r.operation where c.subject = $1 order by c.seq`,
        [subject],
      )
      yield* rows
    },
  }
}
