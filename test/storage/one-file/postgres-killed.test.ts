import {readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import type {PGlite} from '@electric-sql/pglite'
import {beforeAll, expect, test} from 'vitest'
import {OneFileFilesystem} from '../../../runtime/storage/one-file/one-file-filesystem.ts'
import {startPGlite} from '../../../runtime/storage/pglite/start-pglite.ts'
import {asTarball} from '../../../runtime/storage/prepared/as-tarball.ts'
import {MemoryFiles} from '../../support/memory-files.ts'

let prepared: Blob
beforeAll(async () => {
  prepared = await asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))
})

const begin = (files: MemoryFiles) =>
  startPGlite({loadDataDir: prepared, fs: new OneFileFilesystem(files.files), fsync: true})
const open = (files: MemoryFiles) => startPGlite({fs: new OneFileFilesystem(files.files), fsync: true})
const ids = async (db: PGlite) =>
  (await db.query<{id: number}>('select id from kept order by id')).rows.map(({id}) => id)

/** Rows, large and small, between everything that makes, moves and removes files: tables, a checkpoint, a rewrite. */
async function work(db: PGlite, acknowledged: (id: number) => void): Promise<void> {
  const between: Record<number, string> = {
    8: 'create table passing as select repeat(md5(n::text), 40) as t from generate_series(1, 2000) n',
    16: 'checkpoint',
    24: 'drop table passing',
    32: 'vacuum (full) kept',
    36: 'select pg_switch_wal()',
    40: 'checkpoint',
  }
  for (let id = 0; id < 48; id++) {
    const step = between[id]
    if (step) await db.query(step)
    await db.query('insert into kept values ($1, $2)', [id, 'x'.repeat(id % 3 === 0 ? 6000 : 200)])
    acknowledged(id)
  }
}

/** At so many points: what it finds, and that it goes on. */
async function expectAllAt(points: number, then: (files: MemoryFiles, at: number) => MemoryFiles): Promise<void> {
  const files = new MemoryFiles()
  const db = await begin(files)
  await db.exec('create table kept (id int primary key, t text)')
  const from = files.steps.length
  const known: {steps: number; id: number}[] = []
  await work(db, id => known.push({steps: files.steps.length, id}))
  for (let point = 0; point <= points; point++) {
    const at = from + Math.floor(((files.steps.length - from) * point) / points)
    const again = await open(then(files, at))
    const promised = known.filter(({steps}) => steps <= at).length
    const found = await ids(again)
    expect(found.length).toBeGreaterThanOrEqual(promised)
    expect(found).toEqual(found.map((_, i) => i))
    await again.query('insert into kept values (1000)')
    await again.close()
  }
  await db.close()
}

test(
  '[SYNC-5] Postgres killed after any step of its files, or half-way through one, has every row that was acknowledged',
  () => expectAllAt(36, (files, at) => files.after(at, at % 2 === 1)),
  120_000,
)

test(
  '[SYNC-5] and so it has after a loss of power, whatever of what was not flushed had reached the disk',
  () => expectAllAt(24, (files, at) => files.afterPowerLoss(at, step => (step * 2654435761 + at) % 5 < 2)),
  120_000,
)

test('[SYNC-5] a checkpoint that is cut off by a loss of power does not count before all that it wrote out is on the disk', async () => {
  const files = new MemoryFiles()
  const db = await begin(files)
  await db.exec('create table kept (id int primary key, t text)')
  await db.query("insert into kept select n, repeat('x', 500) from generate_series(0, 499) n")
  const from = files.steps.length
  await db.query('checkpoint')
  // Just before each flush there is most that can be lost.
  const flushes = files.steps.flatMap((step, i) => (i > from && step.file === 0 && 'flush' in step ? [i] : []))
  for (const at of flushes.slice(-4)) {
    for (let attempt = 1; attempt <= 4; attempt++) {
      const again = await open(files.afterPowerLoss(at, step => ((step + attempt) * 2654435761) % 7 < 4))
      expect(await ids(again)).toHaveLength(500)
      await again.close()
    }
  }
  await db.close()
}, 60_000)

test('[SYNC-5] a flush that fails is not acknowledged, and the database stops instead of going on with what may be lost', async () => {
  const files = new MemoryFiles()
  const db = await begin(files)
  await db.exec('create table kept (id int primary key, t text)')
  await db.query('insert into kept values (1)')
  files.fault = {on: 'flush', error: new DOMException('the disk does not answer', 'InvalidStateError')}
  await expect(db.query('insert into kept values (2)')).rejects.toMatchObject({code: 'peer_gone'})
  await expect(db.query('insert into kept values (3)')).rejects.toMatchObject({code: 'peer_gone'})
  const again = await open(new MemoryFiles(files.contents))
  expect(await ids(again)).toEqual(expect.arrayContaining([1]))
  expect(await ids(again)).not.toContain(3)
  await again.close()
  await db.close()
}, 60_000)

test('[RET-3] what is deleted and scrubbed is in no byte of the files', async () => {
  const files = new MemoryFiles()
  const db = await begin(files)
  await db.exec('create table kept (id int primary key, t text)')
  for (let id = 0; id < 200; id++)
    await db.query('insert into kept values ($1, $2)', [id, `Hafenstrasse ${id} `.repeat(20)])
  await db.query('checkpoint')
  await db.query('delete from kept')
  const found = () => files.contents.some(bytes => Buffer.from(bytes).includes('Hafenstrasse'))
  expect(found()).toBe(true)
  await db.query('vacuum (full) kept')
  await db.query("select set_config('wal_recycle', 'off', false)")
  for (let i = 0; i < 2; i++) {
    await db.query('checkpoint')
    if (i === 0) await db.query('select pg_switch_wal()')
  }
  expect(found()).toBe(false)
  await db.close()
}, 60_000)
