import {PGlite} from '@electric-sql/pglite'
import {expect, test} from 'vitest'
import {openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {migrations} from '../../sync-server/storage/migrations.ts'
import {storeContract} from '../contract/store.ts'

storeContract('PGlite', async () => {
  const db = await PGlite.create()
  return {store: await openPgStore(pgliteSql(db)), close: () => db.close()}
})

test('opening a store again on the same database changes nothing', async () => {
  const db = await PGlite.create()
  await Promise.all([openPgStore(pgliteSql(db)), openPgStore(pgliteSql(db))])
  await openPgStore(pgliteSql(db))
  const {rows} = await db.query('SELECT name FROM hf_migrations ORDER BY name')
  expect(rows.map(row => (row as {name: string}).name)).toEqual(migrations.map(({name}) => name).sort())
  await db.close()
}, 60_000)
