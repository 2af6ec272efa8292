import type {OperationRequest, Sql, Store} from '../../sync-server/index.ts'
import {shopTenant} from './facts.ts'

type OperationId = OperationRequest<unknown>['operation']

/** A refund that was asked for. */
export type Claim = {operation: OperationId; session: string; subject: string; orderId: string; cents: number}

/** In cents, of the last day: for the order, and for the person without anybody's approval. */
export type Claimed = {ofOrder: number; withoutApproval: number}

/** What has been asked for, in one order for all servers: of two refunds at once, the later one counts the earlier. */
export interface ShopClaims {
  /** Notes a claim, once for an operation, and adds up those before it that were paid or may still be paid. */
  before(claim: Claim): Promise<Claimed>
  /** Notes who allowed it; until then it counts as allowed by the policy. */
  decided(operation: OperationId, withoutApproval: boolean): Promise<void>
}

type Row = {operation: string; subject: string; order_id: string; cents: number; without_approval: number | null}

const nothingPaid = ['failed', 'refused', 'rejected', 'expired', 'voided']

export function shopClaims(sql: Sql, {ledger}: Pick<Store, 'ledger'>): ShopClaims {
  return {
    before: async claim => {
      const claimed = {ofOrder: 0, withoutApproval: 0}
      for (const row of await addClaim(sql, claim)) {
        const ref = {tenant: shopTenant as OperationRequest<unknown>['tenant'], operation: row.operation as OperationId}
        const known = await ledger.operation(ref)
        if (known && nothingPaid.includes(known.status)) continue
        if (row.order_id === claim.orderId) claimed.ofOrder += row.cents
        if (row.subject === claim.subject && row.without_approval !== 0) claimed.withoutApproval += row.cents
      }
      return claimed
    },
    decided: async (operation, withoutApproval) => {
      await sql.query('update shop.claims set without_approval = $2 where operation = $1', [
        operation,
        withoutApproval ? 1 : 0,
      ])
    },
  }
}

/** Adds a claim; returns those of the last day that came before it. */
function addClaim(sql: Sql, {operation, session, subject, orderId, cents}: Claim): Promise<Row[]> {
  return sql.transaction(async tx => {
    await tx.query("select pg_advisory_xact_lock(hashtext('shop.claims'))")
    await tx.query(
      `insert into shop.claims (operation, session, subject, order_id, cents) values ($1, $2, $3, $4, $5)
       on conflict (operation) do nothing`,
      [operation, session, subject, orderId, cents],
    )
    return tx.query<Row>(
      `select operation, subject, order_id, cents, without_approval from shop.claims
       where seq < (select seq from shop.claims where operation = $1)
         and created_at > now() - interval '1 day' and (order_id = $2 or subject = $3)`,
      [operation, orderId, subject],
    )
  })
}
