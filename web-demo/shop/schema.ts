import type {Sql} from '../../sync-server/index.ts'
import {seedOrders, seedRefunds} from './seed.ts'

/**
 * The shop's own tables, beside Holdfast's in one database. A refund's primary key is the operation that paid it, so
 * the same operation can never pay twice; a closed operation can never pay at all.
 */
const tables = [
  `create schema if not exists shop`,
  `create table if not exists shop.orders (
    id text primary key, customer_name text not null, customer_email text not null, placed_on date not null,
    status text not null, note text not null, version int not null default 1
  )`,
  `create table if not exists shop.items (
    order_id text not null references shop.orders, position int not null, name text not null,
    quantity int not null check (quantity > 0), cents int not null check (cents >= 0), primary key (order_id, position)
  )`,
  `create sequence if not exists shop.receipts start 1001`,
  `create table if not exists shop.refunds (
    operation text primary key, receipt text not null unique default 'R-' || nextval('shop.receipts'),
    order_id text not null references shop.orders, cents int not null check (cents > 0), reason text not null,
    created_at timestamptz not null default now()
  )`,
  // What has been asked for, in order: refunds are added up over these, and erasure finds a session's reasons by them.
  `create table if not exists shop.claims (
    operation text primary key, seq bigint generated always as identity, session text not null, subject text not null,
    order_id text not null references shop.orders, cents int not null check (cents > 0), without_approval int,
    created_at timestamptz not null default now()
  )`,
  `create table if not exists shop.closed_operations (operation text primary key)`,
]

/** Brings the tables up and fills them once; what happened since stays. */
export async function openShopTables(sql: Sql): Promise<void> {
  await sql.transaction(async tx => {
    // Several servers may start together on one Postgres, and "if not exists" is no lock.
    await tx.query("select pg_advisory_xact_lock(hashtext('shop'))")
    for (const table of tables) await tx.query(table)
    const filled = await tx.query('select 1 from shop.orders limit 1')
    if (filled.length > 0) return
    for (const {items, ...order} of seedOrders) {
      await tx.query(
        'insert into shop.orders (id, customer_name, customer_email, placed_on, status, note) values ($1, $2, $3, $4, $5, $6)',
        [order.id, order.customer.name, order.customer.email, order.placedOn, order.status, order.note],
      )
      for (const [position, item] of items.entries()) {
        await tx.query('insert into shop.items values ($1, $2, $3, $4, $5)', [
          order.id,
          position,
          item.name,
          item.quantity,
          item.cents,
        ])
      }
    }
    for (const {operation, orderId, cents, reason, at} of seedRefunds) {
      await tx.query(
        'insert into shop.refunds (operation, order_id, cents, reason, created_at) values ($1, $2, $3, $4, $5)',
        [operation, orderId, cents, reason, at],
      )
    }
  })
}
