import {type ChildProcess, spawnSync} from 'node:child_process'
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {isBeating} from '../../runtime/storage/pglite/folder-heartbeat.ts'
import {lockFolder} from '../../runtime/storage/pglite/folder-lock.ts'
import {openNodeDatabase} from '../../runtime/storage/pglite/open-node.ts'
import {placeOfProcesses} from '../../runtime/storage/pglite/process-identity.ts'
import {type RunningModule, runModule} from '../support/run-module.ts'

const holdFolder = fileURLToPath(new URL('./fixture/hold-folder.ts', import.meta.url))
const mayUnshare = spawnSync('unshare', ['-pf', '--mount-proc', 'true']).status === 0
/** As another container does: its own PID namespace, with its own `/proc`. */
const elsewhere = mayUnshare ? ['unshare', '-pf', '--kill-child', '--mount-proc'] : []

let folder: string
const running: RunningModule[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-fence-'))
})
afterEach(async () => {
  for (const {child, exited} of running.splice(0)) {
    kill(child, 'SIGKILL')
    await exited
  }
  await rm(folder, {recursive: true, force: true})
})

function hold(under: string[]): RunningModule {
  const module = runModule(holdFolder, [folder], {under, ownGroup: true})
  running.push(module)
  return module
}

/** The whole group: `unshare` stays between. */
function kill({pid}: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function writeForeignLock(token: string): Promise<void> {
  await writeFile(join(folder, 'holdfast.lock'), JSON.stringify({pid: 1, startedAt: 'x', place: 'elsewhere', token}))
}

describe('a holder in another PID namespace', () => {
  test('[CUS-2] it keeps a second process out while it works', async () => {
    const holder = hold(elsewhere)
    await holder.nextLine()
    await holder.nextLine()
    if (!mayUnshare) await pretendElsewhere()
    await expect(openNodeDatabase({dataDir: folder})).rejects.toMatchObject({
      code: 'database_locked',
      message: expect.stringContaining('of another container or machine'),
    })
  })

  test('[CUS-2] killed, it is followed, and nothing that it acknowledged is lost', async () => {
    const holder = hold(elsewhere)
    await holder.nextLine()
    let last = -1
    while (last < 20) last = ((await holder.nextLine()) as {acknowledged: number}).acknowledged
    kill(holder.child, 'SIGKILL')
    await holder.exited
    const {db, fresh, close} = await openNodeDatabase({dataDir: folder})
    const {rows} = await db.query<{n: number}>('SELECT count(*)::int AS n FROM ledger WHERE id <= $1', [last])
    await close()
    expect({fresh, kept: rows[0]?.n}).toEqual({fresh: false, kept: last + 1})
  })

  test('[CUS-2] frozen, it is followed, and once thawed it stops before it writes', async () => {
    const holder = hold(elsewhere)
    await holder.nextLine()
    await holder.nextLine()
    if (!mayUnshare) await pretendElsewhere()
    kill(holder.child, 'SIGSTOP')
    const {db, close} = await openNodeDatabase({dataDir: folder})
    const count = async () => (await db.query<{n: number}>('SELECT count(*)::int AS n FROM ledger')).rows[0]?.n
    const before = await count()
    kill(holder.child, 'SIGCONT')
    const refused = await lineWithCode(holder)
    expect(refused).toMatchObject({code: 'peer_gone', cause: 'Another process has taken the database over.'})
    await db.query('INSERT INTO ledger VALUES (-1)')
    expect(await count()).toBe(Number(before) + 1)
    await close()
    const again = await openNodeDatabase({dataDir: folder})
    expect((await again.db.query<{n: number}>('SELECT count(*)::int AS n FROM ledger')).rows[0]?.n).toBe(
      Number(before) + 1,
    )
    await again.close()
  })
})

describe('the heartbeat of a lock', () => {
  test('a held lock beats, and a released one does not', async () => {
    const lock = join(folder, 'holdfast.lock')
    const release = await lockFolder(folder)
    expect(await isBeating(lock)).toBe(true)
    await release()
    expect(await isBeating(lock)).toBe(false)
  })

  test('a lock from elsewhere that does not beat is taken over, and the one who held it is told at its next write', async () => {
    const release = await lockFolder(folder)
    const own = JSON.parse(await readFile(join(folder, 'holdfast.lock'), 'utf8'))
    expect(own).toMatchObject({place: placeOfProcesses(), pid: process.pid})
    expect(() => release.requireHeld()).not.toThrow()
    await rm(join(folder, 'holdfast.lock'))
    await writeForeignLock('other')
    expect(() => release.requireHeld()).toThrow('Another process has taken the database over.')
    await release()
    expect(JSON.parse(await readFile(join(folder, 'holdfast.lock'), 'utf8'))).toMatchObject({token: 'other'})
    await (await lockFolder(folder))()
  })

  test('a lock that was deleted is lost too', async () => {
    const release = await lockFolder(folder)
    await rm(join(folder, 'holdfast.lock'))
    expect(() => release.requireHeld()).toThrow('Another process has taken the database over.')
    await release()
  })

  test('of two who find it silent at the same moment, one gets it', async () => {
    await writeForeignLock('gone')
    const outcomes = await Promise.allSettled([lockFolder(folder), lockFolder(folder)])
    expect(outcomes.filter(({status}) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) if (outcome.status === 'fulfilled') await outcome.value()
  })
})

/** Where the machine allows no namespaces: the same lock, as if it had been taken in another. */
async function pretendElsewhere(): Promise<void> {
  const lock = join(folder, 'holdfast.lock')
  await writeFile(lock, JSON.stringify({...JSON.parse(await readFile(lock, 'utf8')), place: 'elsewhere'}))
}

async function lineWithCode(module: RunningModule): Promise<unknown> {
  for (;;) {
    const line = (await module.nextLine()) as {code?: string}
    if (line.code !== undefined) return line
  }
}
