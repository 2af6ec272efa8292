import {expect, test} from 'vitest'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {createSyncServer, openPgStore, pgliteSql} from '../../sync-server/index.ts'
import {serveNode} from '../../sync-server/node.ts'
import {freePort} from '../support/free-port.ts'
import {trustingAuth} from './support/caller.ts'

test('a server whose start failed can be started again, and leaves no listener behind', async () => {
  const database = await openNodeDatabase({dataDir: 'memory://'})
  const store = await openPgStore(pgliteSql(database.db))
  let failures = 1
  const takeOver: typeof store.due.takeOver = async now => {
    if (failures-- > 0) throw new Error('The database is away.')
    return store.due.takeOver(now)
  }
  const failing = {...store, due: {...store.due, takeOver}}
  const server = createSyncServer({store: failing, authenticate: trustingAuth, log: () => undefined})
  const port = await freePort()
  await expect(serveNode(server, {port})).rejects.toThrow('The database is away.')
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow()
  const host = await serveNode(server, {port})
  expect((await fetch(`${host.url}/v1/none`)).status).toBe(401)
  await host.close()
  await database.close()
})
