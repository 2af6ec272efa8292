import type {Sql, SqlQuery, SqlValue} from './sql.ts'

/** Reasons to read beyond one tenant. Only periodic sweeps do; no request can. */
export type AcrossTenants =
  | 'due work'
  | 'unfinished erasures'
  | 'retention'
  | 'blobs that no event names'
  | 'memory that ended'
  | 'model calls left open'
  | 'token streams that ended'

export type TenantWall = {
  /** Sees only rows of the tenant that a statement passes as `$1`. */
  sql: Sql
  across(reason: AcrossTenants): Sql
  /** False if the host's role bypasses row-level security and must not create a role that does not. */
  stands: boolean
}

const role = 'holdfast_tenant'
/** Key of the advisory lock: "wall" in ASCII. Arbitrary, but must never change. */
const wallLock = 0x77616c6c

/**
 * Sets up row-level security as a second separation of tenants, in addition to `tenant = $1` in each statement: a
 * statement that omits its tenant finds no rows. [RET-5] Tables are read from the catalogue, so new ones are
 * included. Each single statement then needs a transaction.
 */
export async function tenantWall(sql: Sql): Promise<TenantWall> {
  const bypasses = await isAboveWalls(sql)
  const stands = await build(sql, bypasses)
  if (!stands) return {sql, across: () => sql, stands}
  const as = bypasses ? role : null
  return {sql: behind(sql, as, null), across: reason => behind(sql, as, reason), stands}
}

async function isAboveWalls(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{above: boolean}>(
    'SELECT rolsuper OR rolbypassrls AS above FROM pg_roles WHERE rolname = current_user',
  )
  return row?.above !== false
}

async function build(sql: Sql, needsRole: boolean): Promise<boolean> {
  try {
    await sql.transaction(async tx => {
      await tx.query('SELECT pg_advisory_xact_lock($1)', [wallLock])
      if (needsRole) await makeRole(tx)
      for (const table of await unwalledTables(tx)) await wallIn(tx, table, needsRole)
      // The role may have been created by another user, and this connection may not be allowed to use it.
      if (needsRole) await tx.query(`SELECT set_config('role', $1, true)`, [role])
    })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === '42501') return false
    throw error
  }
}

async function makeRole(tx: SqlQuery): Promise<void> {
  const [known] = await tx.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role])
  if (known) return
  // Roles belong to the whole cluster: a server on another database of it may create the role concurrently.
  await tx.query(
    `DO $$ BEGIN CREATE ROLE ${role} NOLOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$`,
  )
  await tx.query(`GRANT ${role} TO CURRENT_USER`)
}

async function unwalledTables(tx: SqlQuery): Promise<string[]> {
  const rows = await tx.query<{name: string}>(
    `SELECT c.relname AS name FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
     WHERE c.relkind = 'r' AND c.relname LIKE 'hf\\_%' AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE)
       AND NOT EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = 'hf_one_tenant')`,
  )
  return rows.map(({name}) => name)
}

async function wallIn(tx: SqlQuery, table: string, grant: boolean): Promise<void> {
  await tx.query(
    `CREATE POLICY hf_one_tenant ON ${table} USING (tenant = current_setting('holdfast.tenant', true)
       OR current_setting('holdfast.across', true) <> '')`,
  )
  await tx.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`)
  // Without FORCE, Postgres exempts the table owner.
  await tx.query(`ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`)
  if (grant) await tx.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${role}`)
}

function behind(sql: Sql, as: string | null, reason: AcrossTenants | null): Sql {
  const transaction: Sql['transaction'] = work =>
    sql.transaction(async tx => {
      if (as) await tx.query(`SELECT set_config('role', $1, true)`, [as])
      if (reason) await tx.query(`SELECT set_config('holdfast.across', $1, true)`, [reason])
      return work(reason ? tx : naming(tx))
    })
  return {query: (text, params) => transaction(tx => tx.query(text, params)), transaction}
}

/** Sets the tenant before each statement. A statement without a tenant sees no rows. */
function naming(tx: SqlQuery): SqlQuery {
  let current: SqlValue = null
  return {
    query: async (text, params) => {
      const tenant = typeof params?.[0] === 'string' ? params[0] : ''
      if (tenant !== current) {
        await tx.query(`SELECT set_config('holdfast.tenant', $1, true)`, [tenant])
        current = tenant
      }
      return tx.query(text, params)
    },
  }
}
