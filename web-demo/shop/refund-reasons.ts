import type {DataLayer, Sql} from '../../sync-server/index.ts'
import {shopTenant} from './facts.ts'

/** The reasons in the shop's refunds came from a conversation, and go with it. [RET-2] */
export function refundReasons(sql: Sql): DataLayer {
  return {
    name: 'refund reasons',
    kept: 'order, amount and time of each refund',
    erase: async ({tenant, operations}) => {
      if (tenant !== shopTenant || operations.length === 0) return 0
      // By the ledger: refunds of earlier builds have no claim.
      const rows = await sql.query(
        `update shop.refunds set reason = '' where reason <> '' and operation in (
           select jsonb_array_elements_text(cast($1 as jsonb))) returning operation`,
        [JSON.stringify(operations)],
      )
      return rows.length
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
