import {mkdtemp, readdir, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {lockFolder} from '../../runtime/storage/pglite/folder-lock.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import type {OpenedDatabase} from '../../runtime/storage/pglite/opened-database.ts'
import {identityOf} from '../../runtime/storage/pglite/process-identity.ts'
import {type RunningModule, runModule} from '../support/run-module.ts'

const holdFolder = fileURLToPath(new URL('./fixture/hold-folder.ts', import.meta.url))

let folder: string
const running: RunningModule[] = []
const opened: OpenedDatabase[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-node-'))
})
afterEach(async () => {
  for (const {child} of running.splice(0)) child.kill('SIGKILL')
  for (const database of opened.splice(0)) await database.close()
  await rm(folder, {recursive: true, force: true})
})

async function open(): Promise<OpenedDatabase> {
  const database = await openNodeDatabase({dataDir: folder})
  opened.push(database)
  return database
}

async function close(database: OpenedDatabase): Promise<void> {
  opened.splice(opened.indexOf(database), 1)
  await database.close()
}

function hold(): RunningModule {
  const module = runModule(holdFolder, [folder])
  running.push(module)
  return module
}

describe('a database in a folder', () => {
  test('it is fresh once, and then keeps what was acknowledged', async () => {
    const first = await open()
    expect(first).toMatchObject({fresh: true})
    await first.db.exec('CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)')
    await close(first)
    const second = await open()
    expect(second).toMatchObject({fresh: false})
    expect((await second.db.query('SELECT id FROM kept')).rows).toEqual([{id: 1}])
  })

  test('in memory it is always fresh', async () => {
    const {db, fresh, close} = await openNodeDatabase({dataDir: 'memory://'})
    expect(fresh).toBe(true)
    expect((await db.query('SELECT 1 AS one')).rows).toEqual([{one: 1}])
    await close()
  })

  test('[CUS-2] a second process on the folder is refused, and told which folder and which process', async () => {
    await open()
    expect(await hold().nextLine()).toMatchObject({
      code: 'database_locked',
      message: `The database in ${folder} is open in process ${process.pid}.`,
      details: {folder, pid: process.pid},
    })
  })

  test('[CUS-2] a second opening in the same process is refused too', async () => {
    await open()
    await expect(openNodeDatabase({dataDir: folder})).rejects.toMatchObject({code: 'database_locked'})
  })

  test('[CUS-2] a holder killed in the middle of its writes is recognised at once, and loses none of them', async () => {
    const holder = hold()
    await holder.nextLine()
    let last = -1
    while (last < 20) last = ((await holder.nextLine()) as {acknowledged: number}).acknowledged
    holder.child.kill('SIGKILL')
    await holder.exited
    const {db, fresh, recovered} = await open()
    expect({fresh, recovered}).toEqual({fresh: false, recovered: undefined})
    const {rows} = await db.query<{n: number}>('SELECT count(*)::int AS n FROM ledger WHERE id <= $1', [last])
    expect(rows[0]?.n).toBe(last + 1)
  })
})

describe('the lock on a folder', () => {
  test('whoever releases it lets the next one in', async () => {
    const release = await lockFolder(folder)
    await expect(lockFolder(folder)).rejects.toMatchObject({code: 'database_locked'})
    await release()
    await (await lockFolder(folder))()
    expect(await readdir(folder)).toEqual([])
  })

  test.each([
    ['a pid that nobody has', {pid: 4_194_300, token: 'x'}],
    ['a pid that was given to a later process', {...identityOf(process.pid), startedAt: 'earlier', token: 'x'}],
    ['half a lock', undefined],
  ])('%s does not hold it', async (_name, holder) => {
    await writeFile(join(folder, 'holdfast.lock'), holder ? JSON.stringify(holder) : '{"pid":')
    await (await lockFolder(folder))()
  })

  test('one who died while taking a stale lock over does not hold it either', async () => {
    const lock = join(folder, 'holdfast.lock')
    await writeFile(lock, JSON.stringify({pid: 4_194_300, token: 'a'}))
    await writeFile(`${lock}.after-a`, JSON.stringify({pid: 4_194_301, token: 'b'}))
    await (await lockFolder(folder))()
    expect(await readdir(folder)).toEqual([])
  })

  test('of ten who find it stale at the same moment, one gets it', async () => {
    await writeFile(join(folder, 'holdfast.lock'), JSON.stringify({pid: 4_194_300, token: 'x'}))
    const outcomes = await Promise.allSettled(Array.from({length: 10}, () => lockFolder(folder)))
    expect(outcomes.filter(({status}) => status === 'fulfilled')).toHaveLength(1)
    expect(await readdir(folder)).toEqual(['holdfast.lock'])
  })
})
