export type SqlValue = string | number | null
export type SqlRow = Record<string, unknown>

/** Runs one statement with `$1` parameters and returns its rows. */
export interface SqlQuery {
  query<Row extends SqlRow>(text: string, params?: readonly SqlValue[]): Promise<Row[]>
}

/**
 * The database of the server: Postgres, or PGlite in this process. A transaction is atomic, reads its own writes, and
 * holds its row locks until it ends. If `work` throws, it rolls back and rethrows the error.
 */
export interface Sql extends SqlQuery {
  transaction<T>(work: (tx: SqlQuery) => Promise<T>): Promise<T>
}

/** Returns `($1, $2), ($3, $4)` for this number of rows and columns. */
export function valuesList(rows: number, columns: number): string {
  return Array.from({length: rows}, (_, row) => `(${placeholders(columns, row * columns)})`).join(', ')
}

/** Returns `$1, $2, $3`, numbered from `after` + 1. */
export function placeholders(count: number, after = 0): string {
  return Array.from({length: count}, (_, index) => `$${after + index + 1}`).join(', ')
}
