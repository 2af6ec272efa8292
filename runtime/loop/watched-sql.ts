import {HoldfastError} from '../protocol/errors.ts'
import type {UnitOfWork} from '../storage/device-store.ts'
import {sqlFault} from './confined-sql.ts'
import type {LocalCall} from './local-call.ts'

/** A failed query ends its transaction, so a tool that continues after it must not count as successful. */
export function watchedSql(local: LocalCall): {query: UnitOfWork['sql']; fault(): string | null} {
  let fault: string | null = null
  return {
    fault: () => fault,
    query: async (query, params) => {
      try {
        const refused = sqlFault(query)
        if (refused) throw new HoldfastError('bad_input', refused, {details: {field: 'query'}})
        const unit = await local.unit()
        return await unit.sql(query, params)
      } catch (error) {
        fault ??= HoldfastError.from(error).message
        throw error
      }
    },
  }
}
