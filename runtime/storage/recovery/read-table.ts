import type {PGlite} from '@electric-sql/pglite'

export type ReadTable<Row> = {
  rows: Row[]
  /** Rows of pages with a wrong checksum. Their content may be damaged. */
  doubtful: Row[]
  /** True if every row was read and none is doubtful. */
  whole: boolean
}

/** Maximum number of line pointers on an 8 KiB page. */
const rowsPerPage = 291

/**
 * Reads all readable rows of a table: in one query, else page by page, else row by row. Does not use indexes, which may
 * be damaged.
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

/** Returns null if the query fails for any reason. The caller then reads a smaller range. */
async function query<Row>(db: PGlite, text: string): Promise<Row[] | null> {
  try {
    return (await db.query<Row>(text)).rows
  } catch {
    return null
  }
}
