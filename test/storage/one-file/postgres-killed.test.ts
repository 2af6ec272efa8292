import {readFile} from 'node:fs/promises'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import type {PGlite} from '@electric-sql/pglite'
import {beforeAll, expect, test} from 'vitest'
import {OneFileFilesystem} from '../../../runtime/storage/one-file/one-file-filesystem.ts'
import {startPGlite} from '../../../runtime/storage/pglite/start-pglite.ts'
import {scrub} from '../../../runtime/storage/pglite-erase.ts'
import {asTarball} from '../../../runtime/storage/prepared/as-tarball.ts'
import {MemoryFiles} from '../../support/memory-files.ts'

let prepared: Blob
beforeAll(async () => {
  prepared = await asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))
})

const begin = (files: MemoryFiles) => startPGlite({loadDataDir: prepared, fs: new OneFileFilesystem(files.files)})
const open = (files: MemoryFiles) => startPGlite({fs: new OneFileFilesystem(files.files)})
const ids = async (db: PGlite) =>
  (await db.query<{id: number}>('select id from kept order by id')).rows.map(({id}) => id)

/** What makes, moves and removes files between the rows: tables, a checkpoint, a rewrite. */
const between: Record<number, string> = {
  8: 'create table passing as select repeat(md5(n::text), 40) as t from generate_series(1, 2000) n',
  16: 'checkpoint',
  24: 'drop table passing',
  32: 'vacuum (full) kept',
  36: 'select pg_switch_wal()',
  40: 'checkpoint',
}

/** Rows, large and small; after how many steps of its files each was acknowledged. */
async function worked(files: MemoryFiles): Promise<{from: number; acknowledged: number[]}> {
  const db = await begin(files)
  await db.exec('create table kept (id int primary key, t text)')
  const from = files.steps.length
  const acknowledged: number[] = []
  for (let id = 0; id < 48; id++) {
    const step = between[id]
    if (step) await db.query(step)
    await db.query('insert into kept values ($1, $2)', [id, 'x'.repeat(id % 3 === 0 ? 6000 : 200)])
    acknowledged.push(files.steps.length)
  }
  return {from, acknowledged}
}

/** It has them all, maybe the one that was being written, and goes on. */
async function expectRows(files: MemoryFiles, promised: number): Promise<void> {
  const again = await open(files)
  const found = await ids(again)
  expect(found.length).toBeGreaterThanOrEqual(promised)
  expect(found).toEqual(found.map((_, i) => i))
  await again.query('insert into kept values (1000)')
  await again.close()
}

test('[SYNC-5] Postgres killed after any step of its files, or half-way through one, has every row that was acknowledged', async () => {
  const files = new MemoryFiles()
  const {from, acknowledged} = await worked(files)
  const points = 36
  for (let point = 0; point <= points; point++) {
    const at = from + Math.floor(((files.steps.length - from) * point) / points)
    await expectRows(files.after(at, point % 2 === 1), acknowledged.filter(steps => steps <= at).length)
  }
})

test('[SYNC-5] and so it has after a loss of power while a row is written, whatever of that had reached the disk', async () => {
  const files = new MemoryFiles()
  const {acknowledged} = await worked(files)
  for (let id = 1; id < acknowledged.length; id += 2) {
    const at = (acknowledged[id] ?? 0) - 1
    await expectRows(
      files.afterPowerLoss(at, step => ((step + id) * 2654435761) % 5 < 2),
      id,
    )
  }
})

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
})

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
  await scrub(db)
  expect(found()).toBe(false)
  await db.close()
})
