import {HoldfastError} from '../protocol/errors.ts'
import type {UnitOfWork} from '../storage/device-store.ts'

/** One failed query ends its transaction, so a tool that goes on after it must not be taken for one that succeeded. */
export function watchedSql(unit: UnitOfWork): {query: UnitOfWork['sql']; fault(): string | null} {
  let fault: string | null = null
  return {
    fault: () => fault,
    query: async (query, params) => {
      try {
        return await unit.sql(query, params)
      } catch (error) {
        fault ??= HoldfastError.from(error).message
        throw error
      }
    },
  }
}
