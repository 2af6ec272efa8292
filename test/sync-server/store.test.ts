import {expect, test} from 'vitest'
import {openNodeDatabase} from '../../runtime/node.ts'
import type {HoldfastError} from '../../runtime/protocol/errors.ts'
import {openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {openPostgres} from '../../sync-server/postgres.ts'
import {migrations} from '../../sync-server/storage/migrations.ts'
import {storeContract} from '../contract/store.ts'
import {realPostgres} from '../support/real-postgres.ts'

storeContract('PGlite', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  return {store: await openPgStore(pgliteSql(db)), close}
})

const postgres = realPostgres()
storeContract('Postgres', async () => ({store: await openPgStore(postgres().sql), close: async () => undefined}))

test('processes that start together on one Postgres bring the schema up to date once', async () => {
  const {sql} = postgres()
  await sql.query('CREATE DATABASE together')
  const url = postgres().url.replace(/postgres$/, 'together')
  const processes = await Promise.all([openPostgres({url}), openPostgres({url}), openPostgres({url})])
  await Promise.all(processes.map(one => openPgStore(one.sql)))
  const names = await processes[0]!.sql.query('SELECT name FROM hf_migrations')
  expect(names).toHaveLength(migrations.length)
  await Promise.all(processes.map(one => one.close()))
})

test.each([
  ['mysql://db', 'begins with "postgres://"'],
  ['postgres://ana:hush-hush@127.0.0.1:1/none', 'ECONNREFUSED'],
])('an address that is none is refused by name and without its password: %s', async (url, why) => {
  const refusal = await openPostgres({url}).catch((error: HoldfastError) => error.toBody())
  expect(refusal).toMatchObject({code: 'misconfigured', message: expect.stringContaining(why)})
  expect(JSON.stringify(refusal)).not.toContain('hush-hush')
})

test('opening a store again on the same database changes nothing', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  await Promise.all([openPgStore(pgliteSql(db)), openPgStore(pgliteSql(db))])
  await openPgStore(pgliteSql(db))
  const {rows} = await db.query('SELECT name FROM hf_migrations ORDER BY name')
  expect(rows).toHaveLength(migrations.length)
  await close()
})
