import type {FactChange, FactSource, FactValue} from '../../sync-server/index.ts'
import {orderKey, orderLineSchema} from './order.ts'
import {type ShopTables, type StoredOrder, slugsOf} from './shop-tables.ts'

export const shopTenant = 'fernweh'

export type ShopFacts = FactSource & {
  /** Tells devices to read again what one order is part of. */
  changed(order: StoredOrder): void
}

/** What the desk's people may know of the shop; everybody of the shop may see every order. [FACT-1] */
export function shopFacts(shop: ShopTables): ShopFacts {
  const listeners = new Set<(change: FactChange) => void>()
  return {
    read: async (key, {tenant}) => (tenant === shopTenant ? read(shop, key) : null),
    version: async (key, {tenant}) => (tenant === shopTenant ? versionOf(shop, key) : null),
    changes(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    changed({order}) {
      const keys = [orderKey(order.id), ...slugsOf(order.customer).map(slug => `customer-orders/${slug}`)]
      for (const key of keys) {
        for (const listener of listeners) listener({tenant: shopTenant as FactChange['tenant'], key})
      }
    },
  }
}

async function read(shop: ShopTables, key: string): Promise<FactValue | null> {
  const slash = key.indexOf('/')
  const [kind, name] = [key.slice(0, slash), key.slice(slash + 1)]
  if (kind === 'order') {
    const stored = await shop.order(name)
    return stored && {value: stored.order, version: String(stored.version)}
  }
  if (kind !== 'customer-orders') return null
  const found = await shop.ordersOf(name)
  if (found.length === 0) return null
  return {
    value: found.map(({order}) => orderLineSchema.parse(order)),
    version: found.map(({order, version}) => `${order.id}.${version}`).join(' '),
  }
}

/** An order keeps its version beside it; the others are no cheaper than the fact itself. */
async function versionOf(shop: ShopTables, key: string): Promise<string | null> {
  const order = /^order\/(.+)$/.exec(key)?.[1]
  if (order === undefined) return (await read(shop, key))?.version ?? null
  const version = await shop.version(order)
  return version === null ? null : String(version)
}
