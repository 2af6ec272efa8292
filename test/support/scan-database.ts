import type {PGlite} from '@electric-sql/pglite'

/** Every row of every table of the application and of Holdfast, as text, by table. */
export async function rowsByTable(db: PGlite): Promise<Map<string, string[]>> {
  const tables = await db.query<{name: string}>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const found = new Map<string, string[]>()
  for (const {name} of tables.rows) {
    const {rows} = await db.query<{text: string}>(`select row_to_json(t)::text as text from "${name}" t`)
    found.set(
      name,
      rows.map(row => row.text),
    )
  }
  return found
}

/** The tables that hold this text anywhere, in a column of bytes too. */
export async function tablesWith(db: PGlite, text: string): Promise<string[]> {
  const inBytes = Buffer.from(text).toString('hex')
  return [...(await rowsByTable(db))].flatMap(([table, rows]) =>
    rows.some(row => row.includes(text) || row.includes(inBytes)) ? [table] : [],
  )
}
