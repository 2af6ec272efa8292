import * as z from 'zod'
import type {ToolContract} from '../../../runtime/protocol/tool.ts'
import {defineOperation, type FactSource, type OperationDefinition, type Sql} from '../../../sync-server/index.ts'

export const refundOrder: ToolContract<{orderId: string; cents: number}> = {
  name: 'refundOrder',
  description: 'Refund one order.',
  effect: 'external',
  version: '1',
  input: z.object({orderId: z.string(), cents: z.int().positive()}),
}

export type RefundDesk = ReturnType<typeof refundDesk>

/** Orders as facts, and a bank whose payments are counted: it takes every call, so a second one would show. */
export function refundDesk(sql: Sql) {
  const orders = new Map<string, {value: {state: string}; version: string}>()
  const listeners = new Set<Parameters<NonNullable<FactSource['changes']>>[0]>()
  const facts: FactSource = {
    read: async (key, {tenant}) => orders.get(`${tenant} ${key}`) ?? null,
    changes: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const pay = async (operation: string, cents: number) => {
    await sql.query('INSERT INTO payments (operation, cents) VALUES ($1, $2)', [operation, cents])
    return {payment: operation, cents}
  }
  const payments = (operation: string) =>
    sql.query<{operation: string; cents: number}>('SELECT operation, cents FROM payments WHERE operation = $1', [
      operation,
    ])

  const operation = (over: Partial<OperationDefinition<{orderId: string; cents: number}>> = {}) => ({
    refundOrder: defineOperation({
      tool: refundOrder,
      deadlineMs: 2000,
      authorise: ({input}) => {
        if (input.cents > 100_000) return {deny: 'Over the limit of the desk.'}
        if (input.cents > 5000) return {approval: {role: 'lead', reason: 'A large refund.', expiresInMs: 60_000}}
        return {allow: 'A small refund.'}
      },
      recheck: ({changed}) => (changed.length > 0 ? {stale: `${changed[0]?.key} has changed.`} : {ok: true}),
      execute: ({operation, input}) => pay(operation, input.cents),
      reconcile: async ({operation}) => {
        const [payment] = await payments(operation)
        return payment ? {executed: {payment: operation, cents: payment.cents}} : {notExecuted: 'The bank has none.'}
      },
      ...over,
    }),
  })

  return {
    facts,
    operation,
    pay,
    payments,
    setOrder: (tenant: string, id: string, state: string, version: string) => {
      orders.set(`${tenant} order/${id}`, {value: {state}, version})
      for (const listener of listeners) listener({tenant: tenant as never, key: `order/${id}`})
    },
    prepare: () => sql.query('CREATE TABLE IF NOT EXISTS payments (operation TEXT NOT NULL, cents BIGINT NOT NULL)'),
  }
}
