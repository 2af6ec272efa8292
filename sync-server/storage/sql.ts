export type SqlValue = string | number | null
export type SqlRow = Record<string, unknown>

/** Runs one statement with `$1` parameters and gives its rows. */
export interface SqlQuery {
  query<Row extends SqlRow>(text: string, params?: readonly SqlValue[]): Promise<Row[]>
}

/**
 * The database as the server sees it: Postgres, or PGlite in this process. A transaction is all or nothing, reads its
 * own writes, holds the row locks it takes until it ends, and passes on what `work` threw after rolling back.
 */
export interface Sql extends SqlQuery {
  transaction<T>(work: (tx: SqlQuery) => Promise<T>): Promise<T>
}

/** `($1, $2), ($3, $4)` for so many rows of so many columns. */
export function valuesList(rows: number, columns: number): string {
  return Array.from({length: rows}, (_, row) => `(${placeholders(columns, row * columns)})`).join(', ')
}

/** `$1, $2, $3`, counted on from `after`. */
export function placeholders(count: number, after = 0): string {
  return Array.from({length: count}, (_, index) => `$${after + index + 1}`).join(', ')
}
