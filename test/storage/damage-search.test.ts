import {beforeAll, expect, test} from 'vitest'
import {damageOutcome} from '../support/damage-outcome.ts'
import type {MemoryOpfs} from '../support/memory-opfs.ts'
import {type LeftDevice, leaveDevice, openStoredDevice} from '../support/stored-device.ts'

/**
 * Damages one file of a device in one way, opens it, and asks what was lost. `npm run test:deep` tries every 4 KiB of every
 * file, which takes hours, and prints a table; with `HOLDFAST_DEEP=100` every hundredth of these places. The ordinary suite
 * tries a fixed sample.
 */
const stride = Number(process.env.HOLDFAST_DEEP ?? 0)

type Way = 'cut' | 'zero' | 'flip'
type Damage = {file: string; way: Way | 'remove'; at: number}

const boundary = 4096
let left: LeftDevice
beforeAll(async () => {
  left = await leaveDevice()
})

function files(): string[] {
  return [...left.opfs.files.keys()].filter(file => left.opfs.bytes(file).length > 0)
}

function everyDamage(): Damage[] {
  return files().flatMap(file => {
    const size = left.opfs.bytes(file).length
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

/** The same six of all, one opening each: every way, on the data, a tree, the outbox and the marker. */
function sample(): Damage[] {
  const all = everyDamage()
  const first = (part: string, way: Damage['way']) => all.find(one => one.file.endsWith(part) && one.way === way)!
  const pages = all.filter(({file, at}) => file.endsWith('/data') && at > 0)
  return [
    first('generation.json', 'remove'),
    first('/outbox.0', 'zero'),
    all.find(({file, way}) => /tree\.\d$/.test(file) && way === 'remove')!,
    ...(['cut', 'zero', 'flip'] as const).map((wanted, i) => {
      const places = pages.filter(({way}) => way === wanted)
      return places[Math.floor((places.length * (2 * i + 1)) / 7)]!
    }),
  ]
}

function damaged({file, way, at}: Damage): MemoryOpfs {
  const opfs = left.opfs.copy()
  const bytes = opfs.bytes(file)
  if (way === 'remove') opfs.files.delete(file)
  if (way === 'cut') opfs.overwrite(file, bytes.slice(0, at))
  if (way === 'zero') bytes.fill(0, at, at + boundary)
  if (way === 'flip') bytes[at]! ^= 1 << (at % 8)
  return opfs
}

test(
  '[LOG-9] whatever one file of a device has suffered, no acknowledged event is lost, and nothing is missing in silence',
  async () => {
    const table: Record<string, Record<string, number>> = {}
    const bad: string[] = []
    for (const damage of stride > 0 ? everyDamage().filter((_, i) => i % stride === 0) : sample()) {
      const {file, way, at} = damage
      const outcome = await openStoredDevice(damaged(damage))
        .then(device => damageOutcome(device, left))
        .catch(error => `fails: ${String(error)}`)
      const name = file.split('/').at(-1)!
      const row = table[`${name} ${way}`] ?? {}
      table[`${name} ${way}`] = {...row, [outcome]: (row[outcome] ?? 0) + 1}
      if (!['as it was', 'told'].includes(outcome)) bad.push(`${name} ${way} ${at}: ${outcome}`)
    }
    if (stride > 0) console.table(table)
    expect(bad).toEqual([])
  },
  24 * 60 * 60 * 1000,
)
