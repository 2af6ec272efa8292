import {PGlite} from '@electric-sql/pglite'
import {expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {RunId, StepId} from '../../runtime/protocol/ids.ts'
import {migrations} from '../../runtime/storage/migrations.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import {confirmed, repliedEvents, scribe} from '../support/events.ts'

/** A database as the build left it that knew this many migrations. */
async function upTo(db: PGlite, version: number): Promise<void> {
  await db.exec('create table holdfast_migrations (version int primary key)')
  for (let have = 1; have <= version; have++) {
    await db.exec(migrations[have - 1] ?? '')
    await db.query('insert into holdfast_migrations (version) values ($1)', [have])
  }
}

test('[LOG-1] [VIEW-2] a device of an earlier build keeps its log, and finds in it what this build looks for', async () => {
  const db = await PGlite.create()
  await upTo(db, 8)
  const events = confirmed(repliedEvents(scribe()))
  for (const event of events) {
    await db.query(
      `insert into holdfast_events (id, session, status, place, device_seq, kind, body)
       values ($1, $2, 'accepted', $3, $4, $5, $6)`,
      [event.id, event.session, event.seq, event.deviceSeq, event.kind, JSON.stringify(event)],
    )
  }
  const store = await openPGliteStore(db, env)
  const step = events.find(({kind}) => kind === 'step.prepared')!
  expect((await store.read(step.session, 99)).map(({event}) => event)).toEqual(events)
  expect(await store.prepared(step.run as RunId, step.step as StepId)).toEqual(step)
  expect(await store.prepared(env.id('run'), step.step as StepId)).toBeNull()
  expect(await store.prepared(step.run as RunId, env.id('step'))).toBeNull()
  await db.close()
})

test('a first open makes no tables: they are in the prepared data directory', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  const {rows} = await db.query('select max(version) as version from holdfast_migrations')
  expect(rows).toEqual([{version: migrations.length}])
  await close()
})

test('[LOG-4] a database of a newer build is left as it is, and says which versions met', async () => {
  const {db, close} = await openNodeDatabase({dataDir: 'memory://'})
  await openPGliteStore(db, env)
  await db.query('insert into holdfast_migrations (version) values ($1)', [migrations.length + 1])
  await expect(openPGliteStore(db, env)).rejects.toMatchObject({
    code: 'version_mismatch',
    message: expect.stringContaining(`schema ${migrations.length + 1} is newer than ${migrations.length}`),
  })
  await close()
})
