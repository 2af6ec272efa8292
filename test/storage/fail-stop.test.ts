import {mkdtemp, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import type {PGlite} from '@electric-sql/pglite'
import {afterEach, describe, expect, test} from 'vitest'
import type {HoldfastError} from '../../runtime/protocol/errors.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {OpenedDatabase} from '../../runtime/storage/pglite/opened-database.ts'

let folder: string | undefined
const stops: HoldfastError[] = []

async function open(): Promise<OpenedDatabase> {
  folder ??= await mkdtemp(join(tmpdir(), 'holdfast-stop-'))
  return openNodeDatabase({dataDir: folder, onStopped: error => stops.push(error)})
}

/** The next write to a file whose path has `part` in it fails with what `fault` makes. */
function failWrite(db: PGlite, part: string, fault: () => unknown): void {
  const files = db.Module.FS
  const {write} = files
  files.write = (...args: Parameters<typeof write>) => {
    const {path} = args[0] as {path?: string}
    if (!path?.includes(part)) return write.apply(files, args)
    files.write = write
    throw fault()
  }
}

const count = async (db: PGlite) => (await db.query<{n: number}>('select count(*)::int as n from kept')).rows[0]?.n

afterEach(async () => {
  stops.length = 0
  if (folder) await rm(folder, {recursive: true})
  folder = undefined
})

describe('a Postgres that failed', () => {
  test.each([
    ['an exception it does not know', () => new TypeError('nonsense')],
    ['a disk that fails its write-ahead log', (db: PGlite) => new db.Module.FS.ErrnoError(29)],
  ])(
    '[SYNC-5] %s: nothing is answered from then on, and what was acknowledged is there when it opens again',
    async (_, fault) => {
      const {db, close} = await open()
      await db.exec('create table kept (id int)')
      await db.query('insert into kept values (1)')
      failWrite(db, 'pg_wal', () => fault(db))
      await expect(db.query('insert into kept values (2)')).rejects.toMatchObject({code: 'peer_gone'})
      await expect(count(db)).rejects.toMatchObject({code: 'peer_gone'})
      await expect(db.transaction(tx => tx.query('insert into kept values (3)'))).rejects.toMatchObject({
        code: 'peer_gone',
      })
      expect(stops).toHaveLength(1)
      await close()

      const again = await open()
      expect(again).toMatchObject({fresh: false})
      expect(again.recovered).toBeUndefined()
      expect(await count(again.db)).toBe(1)
      await again.close()
    },
  )

  test('[SYNC-5] a statement whose files could not be written through is not acknowledged, and nothing after it is', async () => {
    const {db, close} = await open()
    await db.exec('create table kept (id int)')
    const files = Reflect.get(db, 'fs') as {syncToFs(): Promise<void>}
    files.syncToFs = () => Promise.reject(new Error('no room'))
    await expect(db.query('insert into kept values (1)')).rejects.toMatchObject({code: 'peer_gone'})
    await expect(count(db)).rejects.toMatchObject({code: 'peer_gone'})
    expect(stops).toMatchObject([{message: expect.stringContaining('no room')}])
    await close()
  })

  test('[SYNC-5] an error of its own, or no room for a table, refuses one statement and stops nothing', async () => {
    const {db, close} = await open()
    await db.exec('create table kept (id int)')
    await expect(db.query('select 1 / 0')).rejects.toThrow('division by zero')
    failWrite(db, '/base/', () => new db.Module.FS.ErrnoError(51))
    await expect(
      db.exec("create table big as select repeat('x', 1000) from generate_series(1, 20000)"),
    ).rejects.toMatchObject({
      code: 'storage_full',
    })
    await db.query('insert into kept values (1)')
    expect(await count(db)).toBe(1)
    expect(stops).toEqual([])
    await close()
  })
})
