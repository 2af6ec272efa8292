import {cp, mkdtemp, open, readdir, rm, stat, truncate} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {openDeviceFolder} from '../../runtime/storage/pglite/open-device-folder.ts'
import {orClose} from '../../runtime/storage/pglite/opened-database.ts'
import {damageOutcome} from '../support/damage-outcome.ts'
import {deviceOn, type LeftSessions, type StoredDevice, writeSessions} from '../support/stored-device.ts'

/** As `damage-search.test.ts`, over the files of a device on Node: the tables of Postgres are files of their own here. */
const stride = Number(process.env.HOLDFAST_DEEP ?? 0)

type Damage = {file: string; way: 'cut' | 'zero' | 'flip' | 'remove'; at: number}

const boundary = 4096
let root: string
let left: LeftSessions
let sizes: {file: string; size: number}[]
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'holdfast-damage-'))
  const first = await openFolder(join(root, 'first'))
  left = await writeSessions(first)
  // As a kill leaves it: nothing is written at a closing.
  await cp(join(root, 'first'), join(root, 'left'), {recursive: true})
  await first.close()
  await rm(join(root, 'left/holdfast.lock'), {force: true})
  sizes = await filesIn(join(root, 'left'))
})
afterAll(() => rm(root, {recursive: true, force: true}))

async function filesIn(folder: string): Promise<{file: string; size: number}[]> {
  const entries = await readdir(folder, {withFileTypes: true, recursive: true})
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  const all = await Promise.all(
    files.map(async path => ({file: path.slice(folder.length + 1), size: (await stat(path)).size})),
  )
  return all.filter(({size}) => size > 0).toSorted((a, b) => (a.file < b.file ? -1 : 1))
}

async function openFolder(folder: string): Promise<StoredDevice> {
  for (let attempt = 1; ; attempt++) {
    try {
      const database = await openDeviceFolder(folder)
      return await orClose(database, () => deviceOn(database, []))
    } catch (error) {
      // A device that meets damage while it opens notes it and is opened again.
      if (attempt === 4) throw error
    }
  }
}

function everyDamage(): Damage[] {
  return sizes.flatMap(({file, size}) => {
    const places = Array.from({length: Math.ceil(size / boundary)}, (_, i) => i * boundary)
    const inside = (at: number, i: number) => Math.min(size - 1, at + ((i * 2654435761) % boundary))
    return [
      {file, way: 'remove' as const, at: 0},
      ...places.flatMap((at, i): Damage[] => [
        {file, way: 'cut', at},
        {file, way: 'zero', at},
        {file, way: 'flip', at: inside(at, i)},
      ]),
    ]
  })
}

/** One of each way: the log, the table that holds most, the outbox and the control file. */
function sample(): Damage[] {
  const all = everyDamage()
  const first = (part: RegExp, way: Damage['way']) => all.find(one => part.test(one.file) && one.way === way)!
  return [
    first(/pg_wal\/0/, 'zero'),
    first(/pg_control$/, 'cut'),
    first(/^outbox\.0$/, 'flip'),
    first(/^postgres\/base\/5\/1259$/, 'remove'),
  ]
}

async function damaged({file, way, at}: Damage, index: number): Promise<string> {
  const folder = join(root, `damaged-${index}`)
  await cp(join(root, 'left'), folder, {recursive: true})
  const path = join(folder, file)
  if (way === 'remove') await rm(path)
  if (way === 'cut') await truncate(path, at)
  if (way !== 'zero' && way !== 'flip') return folder
  const handle = await open(path, 'r+')
  const {size} = await handle.stat()
  const bytes = Buffer.alloc(way === 'zero' ? Math.min(boundary, size - at) : 1)
  if (way === 'flip') {
    await handle.read(bytes, 0, 1, at)
    bytes[0]! ^= 1 << (at % 8)
  }
  await handle.write(bytes, 0, bytes.length, at)
  await handle.close()
  return folder
}

test(
  '[LOG-9] whatever one file of a device on Node has suffered, nothing acknowledged is lost or missing in silence',
  async () => {
    const table: Record<string, Record<string, number>> = {}
    const bad: string[] = []
    const chosen = stride > 0 ? everyDamage().filter((_, i) => i % stride === 0) : sample()
    for (const [index, damage] of chosen.entries()) {
      const {file, way, at} = damage
      const folder = await damaged(damage, index)
      const outcome = await openFolder(folder)
        .then(device => damageOutcome(device, left))
        .catch(error => `fails: ${String(error)}`)
      await rm(folder, {recursive: true, force: true})
      const part = file.startsWith('postgres/') ? file.split('/').slice(0, 2).join('/') : file
      const row = table[`${part} ${way}`] ?? {}
      table[`${part} ${way}`] = {...row, [outcome]: (row[outcome] ?? 0) + 1}
      if (!['as it was', 'told'].includes(outcome)) bad.push(`${file} ${way} ${at}: ${outcome}`)
    }
    if (stride > 0) console.table(table)
    expect(bad).toEqual([])
  },
  24 * 60 * 60 * 1000,
)
