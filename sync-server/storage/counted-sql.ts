import type {Sql} from './sql.ts'

/** Wraps a database so that `busy` reports whether a statement or transaction runs or waits. */
export function countedSql(sql: Sql): {sql: Sql; busy(): boolean} {
  let open = 0
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    open += 1
    try {
      return await work()
    } finally {
      open -= 1
    }
  }
  return {
    sql: {
      query: (text, params) => counted(() => sql.query(text, params)),
      transaction: work => counted(() => sql.transaction(work)),
    },
    busy: () => open > 0,
  }
}
