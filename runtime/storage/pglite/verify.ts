import type {PGlite} from '@electric-sql/pglite'

/** Reads every row of every table, long values too. Rejects with the first error of Postgres: then the files are damaged. */
export async function verifyEveryRow(db: PGlite): Promise<void> {
  const {rows} = await db.query<{name: string}>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind = 'r' and n.nspname <> 'information_schema'`,
  )
  for (const {name} of rows) await db.query(`select sum(octet_length(t::text)) from ${name} t`)
}
