import {PGlite} from '@electric-sql/pglite'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {openPgStore, pgliteSql, type Sql} from '../../sync-server/index.ts'
import {openPostgres} from '../../sync-server/postgres.ts'
import {type TenantWall, tenantWall} from '../../sync-server/storage/tenant-wall.ts'
import {realPostgres} from '../support/real-postgres.ts'

const postgres = realPostgres()
let db: PGlite
beforeAll(async () => {
  db = await PGlite.create()
})
afterAll(() => db?.close())

async function login(name: string, rights: string): Promise<Sql & {close(): Promise<void>}> {
  const {sql, url} = postgres()
  await sql.query(`CREATE ROLE ${name} LOGIN PASSWORD 'loopback-only' ${rights}`)
  await sql.query(`CREATE DATABASE ${name} OWNER ${name}`)
  const own = url.replace('//holdfast:', `//${name}:`).replace(/postgres$/, name)
  const opened = await openPostgres({url: own})
  return {...opened.sql, close: opened.close}
}

const databases: [string, () => Promise<Sql>][] = [
  ['PGlite', async () => pgliteSql(db)],
  ['Postgres, as its superuser', async () => postgres().sql],
  ['Postgres, as the plain owner of the tables', () => login('plain', 'NOSUPERUSER')],
]

describe.each(databases)('the wall between tenants: %s', (_, open) => {
  let raw: Sql
  let wall: TenantWall
  beforeAll(async () => {
    raw = await open()
    expect((await openPgStore(raw)).walled).toBe(true)
    wall = await tenantWall(raw)
    for (const tenant of ['acme', 'other']) {
      const row = [tenant, `run-of-${tenant}`, `ses-of-${tenant}`]
      await wall.sql.query('INSERT INTO hf_runs (tenant, id, session) VALUES ($1, $2, $3)', row)
    }
  })
  afterAll(async () => {
    if ('close' in raw) await (raw as Sql & {close(): Promise<void>}).close()
  })

  const ids = async (sql: Sql, text: string, params?: string[]) =>
    (await sql.query<{id: string}>(text, params)).map(row => row.id).sort()

  test('[RET-5] a statement that forgets its tenant finds, changes and deletes nothing', async () => {
    expect(await ids(wall.sql, 'SELECT id FROM hf_runs')).toEqual([])
    expect(await ids(wall.sql, 'SELECT id FROM hf_runs WHERE id = $1', ['run-of-acme'])).toEqual([])
    expect(await ids(wall.sql, `UPDATE hf_runs SET session = 'x' WHERE id = $1 RETURNING id`, ['run-of-acme'])).toEqual(
      [],
    )
    expect(await ids(wall.sql, 'DELETE FROM hf_runs RETURNING id')).toEqual([])
    const inside = await wall.sql.transaction(tx => tx.query('SELECT id FROM hf_runs'))
    expect(inside).toEqual([])
  })

  test('[RET-5] one that names a tenant sees that tenant alone, whatever else it asks for', async () => {
    expect(await ids(wall.sql, 'SELECT id FROM hf_runs WHERE tenant = $1 OR true', ['acme'])).toEqual(['run-of-acme'])
    expect(await ids(wall.sql, 'SELECT id FROM hf_runs WHERE tenant <> $1', ['acme'])).toEqual([])
    const foreign = wall.sql.query('INSERT INTO hf_runs (tenant, id, session) VALUES ($2, $3, $1)', [
      'acme',
      'other',
      'x',
    ])
    await expect(foreign).rejects.toThrow(/row-level security/)
  })

  test('[RET-5] what one transaction was told does not reach the next on the same connection', async () => {
    await wall.across('retention').query('SELECT 1')
    await wall.sql.query('SELECT 1 WHERE $1 = $1', ['acme'])
    expect(await ids(wall.sql, 'SELECT id FROM hf_runs')).toEqual([])
  })

  test('[RET-5] only a named reason looks across', async () => {
    expect(await ids(wall.across('retention'), 'SELECT id FROM hf_runs')).toEqual(['run-of-acme', 'run-of-other'])
  })

  test('[RET-5] every table with a tenant stands behind it, as the catalogue says', async () => {
    const rows = await raw.query<{name: string; walled: boolean}>(
      `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity
         AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid) AS walled
       FROM pg_class c WHERE c.relkind = 'r' AND c.relname LIKE 'hf\\_%'`,
    )
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter(({walled}) => !walled)).toEqual([{name: 'hf_migrations', walled: false}])
  })
})

test('[RET-5] a connection that passes every wall and may make no role is told apart, and still works', async () => {
  const sql = await login('above', 'NOSUPERUSER BYPASSRLS NOCREATEROLE')
  const store = await openPgStore(sql)
  expect(store.walled).toBe(false)
  expect(await store.sessions.list({tenant: 'acme', subject: 'ana'} as never, 10)).toEqual([])
  await sql.close()
})
