import {chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type DamagePolicy, openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {runModule} from '../support/run-module.ts'

let whole: string
let folder: string
beforeAll(async () => {
  whole = await mkdtemp(join(tmpdir(), 'holdfast-whole-'))
  const {db, close} = await openNodeDatabase({dataDir: whole})
  await db.exec('CREATE TABLE paid (id int); INSERT INTO paid VALUES (1)')
  await close()
})
afterAll(() => rm(whole, {recursive: true, force: true}))
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-damaged-'))
  await cp(whole, folder, {recursive: true})
})
afterEach(() => rm(folder, {recursive: true, force: true}))

const inFiles = (...names: string[]) => join(folder, 'postgres', ...names)
const inLog = async () => (await readdir(inFiles('pg_wal'))).filter(name => name.length === 24)

async function refusal(onDamage?: DamagePolicy): Promise<HoldfastError> {
  const outcome = await openNodeDatabase({dataDir: folder, ...(onDamage && {onDamage})}).then(
    ({close}) => close(),
    error => error,
  )
  if (!HoldfastError.is(outcome)) throw new Error('the folder was opened', {cause: outcome})
  return outcome
}

async function paid(onDamage?: DamagePolicy): Promise<unknown> {
  const {db, close, fresh} = await openNodeDatabase({dataDir: folder, ...(onDamage && {onDamage})})
  const rows = fresh ? 'fresh' : (await db.query('SELECT id FROM paid')).rows
  await close()
  return rows
}

describe('a damaged folder', () => {
  test.each<[string, {code: string; fault: string; reason: RegExp}, () => Promise<unknown>]>([
    [
      'a cut pg_control',
      {code: 'database_damaged', fault: 'cut', reason: /pg_control has 100 bytes instead of 8192/},
      () => truncate(inFiles('global', 'pg_control'), 100),
    ],
    [
      'a garbled pg_control',
      {code: 'database_damaged', fault: 'damaged', reason: /pg_control is garbled/},
      () => writeFile(inFiles('global', 'pg_control'), Buffer.alloc(8192, 7)),
    ],
    [
      'a pg_control that is gone',
      {code: 'database_damaged', fault: 'gone', reason: /pg_control is missing/},
      () => rm(inFiles('global', 'pg_control')),
    ],
    [
      'a missing write-ahead log',
      {code: 'database_damaged', fault: 'gone', reason: /write-ahead log/},
      async () => {
        for (const name of await inLog()) await rm(inFiles('pg_wal', name))
      },
    ],
    [
      'a cut write-ahead log',
      {code: 'database_damaged', fault: 'cut', reason: /was cut to 100 bytes/},
      async () => {
        for (const name of await inLog()) await truncate(inFiles('pg_wal', name), 100)
      },
    ],
    [
      'a commit log that is gone',
      {code: 'database_damaged', fault: 'damaged', reason: /does not start/},
      () => rm(inFiles('pg_xact', '0000')),
    ],
    [
      'a missing folder',
      {code: 'database_damaged', fault: 'gone', reason: /postgres/},
      () => rm(inFiles(), {recursive: true}),
    ],
    [
      'an emptied folder',
      {code: 'database_damaged', fault: 'gone', reason: /gone/},
      async () => {
        await rm(inFiles(), {recursive: true})
        await mkdir(inFiles())
      },
    ],
    [
      'another version of Postgres',
      {code: 'misconfigured', fault: 'version', reason: /made by Postgres 12 /},
      () => writeFile(inFiles('PG_VERSION'), '12\n'),
    ],
    [
      'another layout',
      {code: 'misconfigured', fault: 'layout', reason: /"one-file"/},
      () => writeFile(join(folder, 'generation'), '{"layout":"one-file"}'),
    ],
    [
      'a garbled marker',
      {code: 'database_damaged', fault: 'marker', reason: /garbled/},
      () => writeFile(join(folder, 'generation'), 'x'.repeat(36)),
    ],
    [
      'an empty marker',
      {code: 'database_damaged', fault: 'marker', reason: /garbled/},
      () => writeFile(join(folder, 'generation'), ''),
    ],
    [
      'the marker of another database',
      {code: 'database_damaged', fault: 'other_database', reason: /names the database/},
      () => writeFile(join(folder, 'generation'), '00000000-0000-4000-8000-000000000000'),
    ],
    [
      'a bare data directory of Postgres',
      {code: 'misconfigured', fault: 'layout', reason: /PG_VERSION/},
      async () => {
        await rename(folder, `${folder}.whole`)
        await rename(join(`${folder}.whole`, 'postgres'), folder)
        await rm(`${folder}.whole`, {recursive: true})
      },
    ],
  ])(
    '%s is refused with its cause, and nothing in the folder changes',
    async (_name, {code, fault, reason}, damage) => {
      await damage()
      const before = await readdir(folder)
      const error = await refusal()
      expect(error).toMatchObject({code, details: {folder, fault, reason: expect.stringMatching(reason)}})
      expect(error.message).toMatch(/Nothing was changed\. (Restore|Start).*begin anew/)
      expect(await readdir(folder)).toEqual(before)
      expect((await refusal()).code).toBe(code)
    },
  )

  test('asked to begin anew, it sets files and marker aside whole', async () => {
    const marker = await readFile(join(folder, 'generation'), 'utf8')
    await writeFile(inFiles('global', 'pg_control'), 'nonsense')
    const {fresh, recovered, setAside, close} = await openNodeDatabase({dataDir: folder, onDamage: 'begin_anew'})
    await close()
    expect({fresh, recovered, setAside}).toEqual({
      fresh: true,
      recovered: 'quarantined',
      setAside: join(folder, 'postgres.damaged-1'),
    })
    expect(await readFile(join(folder, 'postgres.damaged-1', 'global', 'pg_control'), 'utf8')).toBe('nonsense')
    expect(await readFile(join(folder, 'generation.damaged-1'), 'utf8')).toBe(marker)
  })
})

describe('a folder whose files cannot be reached', () => {
  test.each<[string, RegExp, () => Promise<unknown>]>([
    [
      'a file that is a loop of links',
      /ELOOP/,
      async () => {
        await rename(inFiles('global', 'pg_control'), join(folder, 'kept'))
        await symlink('pg_control', inFiles('global', 'pg_control'))
      },
    ],
    [
      'a marker that cannot be read',
      /EISDIR/,
      async () => {
        await rename(join(folder, 'generation'), join(folder, 'kept'))
        await mkdir(join(folder, 'generation'))
      },
    ],
  ])('%s is no damage, whatever the policy', async (_name, reason, hide) => {
    await hide()
    for (const policy of ['refuse', 'begin_anew'] as const) {
      expect(await refusal(policy)).toMatchObject({
        code: 'unavailable',
        details: {fault: 'unreadable', reason: expect.stringMatching(reason)},
      })
    }
    expect(await readdir(folder)).not.toContain('postgres.damaged-1')
  })

  test('a file without permission is no damage, and with it the database opens as it was', async () => {
    await chmod(folder, 0o755)
    const [relation = ''] = (await readdir(inFiles('base', '5'))).filter(name => /^\d+$/.test(name))
    await chmod(inFiles('base', '5', relation), 0)
    const opener = runModule(fileURLToPath(new URL('./fixture/open-as-nobody.ts', import.meta.url)), [folder])
    expect(await opener.nextLine()).toMatchObject({
      code: 'unavailable',
      details: {fault: 'unreadable', reason: expect.stringMatching(new RegExp(`${relation} \\(EACCES\\)`))},
    })
    await opener.exited
    await chmod(inFiles('base', '5', relation), 0o600)
    expect(await paid()).toEqual([{id: 1}])
  })
})

describe('a folder without a marker', () => {
  test('the marker of a whole database is written anew', async () => {
    const marker = await readFile(join(folder, 'generation'), 'utf8')
    await rm(join(folder, 'generation'))
    expect(await paid()).toEqual([{id: 1}])
    expect(await readFile(join(folder, 'generation'), 'utf8')).toBe(marker)
  })

  test('a damaged database that lost its marker is refused too', async () => {
    await rm(join(folder, 'generation'))
    await truncate(inFiles('global', 'pg_control'), 100)
    expect(await refusal()).toMatchObject({code: 'database_damaged', details: {fault: 'cut'}})
  })

  test('what a first start left unfinished is begun again', async () => {
    await rename(join(folder, 'generation'), join(folder, 'generation.unfinished'))
    await rm(inFiles('global'), {recursive: true})
    expect(await paid()).toBe('fresh')
  })
})
