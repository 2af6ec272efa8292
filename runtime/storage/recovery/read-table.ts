import type {PGlite} from '@electric-sql/pglite'

export type ReadTable<Row> = {
  rows: Row[]
  /** Rows of pages whose checksum was wrong: each may be right or not. */
  doubtful: Row[]
  /** Every row of the table was read, and none is doubtful. */
  whole: boolean
}

/** Line pointers that fit on a page of 8 KiB. */
const rowsPerPage = 291

/**
 * All rows of a table that can be read: in one query, else page by page, else row by row. Indexes are not used, because
 * they may be what is damaged.
 */
export async function readTable<Row>(db: PGlite, table: string, columns: string): Promise<ReadTable<Row>> {
  const select = `select ${columns} from ${table}`
  const at = (from: string, to: string) => query<Row>(db, `${select} where ctid >= '${from}' and ctid < '${to}'`)
  const all = await query<Row>(db, select)
  if (all) return {rows: all, doubtful: [], whole: true}
  const read: ReadTable<Row> = {rows: [], doubtful: [], whole: false}
  const pages = (await query<{pages: number}>(db, `select (pg_relation_size('${table}') / 8192)::int as pages`))?.[0]
    ?.pages
  for (let page = 0; page < (pages ?? 0); page++) {
    const found = await at(`(${page},0)`, `(${page + 1},0)`)
    if (found) read.rows.push(...found)
    else await readRows(page)
  }
  return read

  async function readRows(page: number): Promise<void> {
    const sound = await query(db, `select 1 from ${table} where ctid = '(${page},1)'`)
    await query(db, 'set ignore_checksum_failure = on')
    for (let row = 1; row <= rowsPerPage; row++) {
      const found = await at(`(${page},${row})`, `(${page},${row + 1})`)
      if (found) (sound ? read.rows : read.doubtful).push(...found)
    }
    await query(db, 'set ignore_checksum_failure = off')
  }
}

/** Null for a query that failed, for whatever reason: there is nothing to do but to read elsewhere. */
async function query<Row>(db: PGlite, text: string): Promise<Row[] | null> {
  try {
    return (await db.query<Row>(text)).rows
  } catch {
    return null
  }
}
