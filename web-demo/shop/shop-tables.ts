import type {Sql} from '../../sync-server/index.ts'
import {customerSlug, type Order, orderSchema, type Receipt, type Refund, receiptSchema, refundSchema} from './order.ts'

export type StoredOrder = {order: Order; version: number}
export type Payment = {paid: Receipt} | {refused: string}

/** The shop's database as its own code sees it. */
export interface ShopTables {
  order(id: string): Promise<StoredOrder | null>
  version(id: string): Promise<number | null>
  /** By full name, first name or e-mail address, as `customerSlug` spells them. */
  ordersOf(customer: string): Promise<StoredOrder[]>
  orders(): Promise<Order[]>
  refunds(): Promise<Refund[]>
  /** Pays once for one operation, however often it is asked; never more than is left of the order. */
  pay(operation: string, refund: {orderId: string; cents: number; reason: string}): Promise<Payment>
  /** The receipt of an operation that paid; else closes the operation, so that it cannot pay later either. */
  receiptOrClose(operation: string): Promise<Receipt | null>
}

type Queries = Pick<Sql, 'query'>

type Row = {
  id: string
  customer_name: string
  customer_email: string
  placed_on: string
  status: string
  note: string
  version: number
  items: {name: string; quantity: number; cents: number}[]
  refunded: number
}

const selectOrders = `
  select o.id, o.customer_name, o.customer_email, to_char(o.placed_on, 'YYYY-MM-DD') as placed_on, o.status, o.note, o.version,
    (select json_agg(json_build_object('name', i.name, 'quantity', i.quantity, 'cents', i.cents) order by i.position)
       from shop.items i where i.order_id = o.id) as items,
    (select coalesce(sum(r.cents), 0)::int from shop.refunds r where r.order_id = o.id) as refunded
  from shop.orders o`

export function shopTables(sql: Sql): ShopTables {
  const all = async () => (await sql.query<Row>(`${selectOrders} order by o.id`)).map(storedOrder)
  return {
    order: id => findOrder(sql, id),
    version: async id => {
      const [row] = await sql.query<{version: number}>('select version from shop.orders where id = $1', [id])
      return row?.version ?? null
    },
    ordersOf: async customer => (await all()).filter(({order}) => slugsOf(order.customer).includes(customer)),
    orders: async () => (await all()).map(({order}) => order),
    refunds: async () => (await sql.query<RefundRow>(selectRefunds)).map(refundOf),
    pay: (operation, refund) => sql.transaction(tx => pay(tx, operation, refund)),
    receiptOrClose: operation => sql.transaction(tx => receiptOrClose(tx, operation)),
  }
}

export function slugsOf({name, email}: Order['customer']): string[] {
  return [name, name.split(' ')[0] ?? name, email].map(customerSlug)
}

async function findOrder(sql: Queries, id: string): Promise<StoredOrder | null> {
  const [row] = await sql.query<Row>(`${selectOrders} where o.id = $1`, [id])
  return row ? storedOrder(row) : null
}

function storedOrder(row: Row): StoredOrder {
  const totalCents = row.items.reduce((sum, item) => sum + item.quantity * item.cents, 0)
  const order = orderSchema.parse({
    id: row.id,
    customer: {name: row.customer_name, email: row.customer_email},
    placedOn: row.placed_on,
    status: row.status,
    note: row.note,
    items: row.items,
    totalCents,
    refundedCents: row.refunded,
    refundableCents: totalCents - row.refunded,
  })
  return {order, version: row.version}
}

type RefundRow = {receipt: string; order_id: string; cents: number; reason: string; created_at: Date}
const selectRefunds = 'select receipt, order_id, cents, reason, created_at from shop.refunds order by created_at desc'

function refundOf(row: RefundRow): Refund {
  return refundSchema.parse({
    id: row.receipt,
    orderId: row.order_id,
    cents: row.cents,
    reason: row.reason,
    createdAt: row.created_at.getTime(),
  })
}

async function pay(
  tx: Queries,
  operation: string,
  refund: {orderId: string; cents: number; reason: string},
): Promise<Payment> {
  await lockOperation(tx, operation)
  const before = await receiptOf(tx, operation)
  if (before) return {paid: before}
  const closed = await tx.query('select 1 from shop.closed_operations where operation = $1', [operation])
  if (closed.length > 0) return {refused: 'This refund was closed before it was paid.'}
  // On Postgres another refund of the order may be under way: what is left is read when it is through.
  await tx.query('select 1 from shop.orders where id = $1 for update', [refund.orderId])
  const stored = await findOrder(tx, refund.orderId)
  if (!stored) return {refused: `There is no order ${refund.orderId}.`}
  if (refund.cents > stored.order.refundableCents) return {refused: 'The order has less left than this refund.'}
  await tx.query('insert into shop.refunds (operation, order_id, cents, reason) values ($1, $2, $3, $4)', [
    operation,
    refund.orderId,
    refund.cents,
    refund.reason,
  ])
  await tx.query('update shop.orders set version = version + 1 where id = $1', [refund.orderId])
  const receipt = await receiptOf(tx, operation)
  if (!receipt) throw new Error(`refund ${operation} was written but cannot be read back`)
  return {paid: receipt}
}

async function receiptOrClose(tx: Queries, operation: string): Promise<Receipt | null> {
  await lockOperation(tx, operation)
  const receipt = await receiptOf(tx, operation)
  if (!receipt) await tx.query('insert into shop.closed_operations values ($1) on conflict do nothing', [operation])
  return receipt
}

/** Paying and closing one operation wait for each other; there need not be a row yet that could be locked. */
async function lockOperation(tx: Queries, operation: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtext($1))', [operation])
}

async function receiptOf(tx: Queries, operation: string): Promise<Receipt | null> {
  const [row] = await tx.query<{refund: string; orderId: string; cents: number}>(
    'select receipt as refund, order_id as "orderId", cents from shop.refunds where operation = $1',
    [operation],
  )
  const stored = row && (await findOrder(tx, row.orderId))
  return stored ? receiptSchema.parse({...row, remainingCents: stored.order.refundableCents}) : null
}
