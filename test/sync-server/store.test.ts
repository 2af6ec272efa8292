import {expect, test} from 'vitest'
import {openNodeDatabase} from '../../runtime/node.ts'
import {openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {migrations} from '../../sync-server/storage/migrations.ts'
import {storeContract} from '../contract/store.ts'

storeContract('PGlite', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  return {store: await openPgStore(pgliteSql(db)), close}
})

test('opening a store again on the same database changes nothing', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  await Promise.all([openPgStore(pgliteSql(db)), openPgStore(pgliteSql(db))])
  await openPgStore(pgliteSql(db))
  const {rows} = await db.query('SELECT name FROM hf_migrations ORDER BY name')
  expect(rows.map(row => (row as {name: string}).name)).toEqual(migrations.map(({name}) => name).sort())
  await close()
}, 120_000)
