import {beforeAll, describe, expect, test} from 'vitest'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {MemoryOpfs} from '../support/memory-opfs.ts'
import {leaveDevice, maya, message, opened, openStoredDevice} from '../support/stored-device.ts'

let left: MemoryOpfs
let shared: SessionId
let page: Event[]
let own: SessionId
let device: string
let server: string[]
let pending: string[]
beforeAll(async () => {
  const found = await leaveDevice()
  ;({opfs: left, device} = found)
  ;({session: shared, page, texts: server} = found.shared)
  ;({session: own, texts: pending} = found.own)
})

const generation = (opfs: MemoryOpfs) => {
  const marker = JSON.parse(new TextDecoder().decode(opfs.bytes('holdfast/desk/generation.json'))) as {
    generation: string
  }
  return `holdfast/desk/${marker.generation}`
}

test('a device that is left as it is opens as it was, and nobody is told anything', async () => {
  const again = await openStoredDevice(left.copy())
  expect(again.recovery).toBeNull()
  expect(await again.texts(own)).toEqual(pending)
  expect(await again.texts(shared)).toEqual(server)
  await again.close()
})

describe('the marker', () => {
  test.each(['', '{"layout":"one-file","gener', 'null', '{}'])(
    '[LOG-9] %j in its place: it is rebuilt, nothing is set aside',
    async text => {
      const opfs = left.copy()
      const before = generation(opfs)
      opfs.overwrite('holdfast/desk/generation.json', new TextEncoder().encode(text))
      const again = await openStoredDevice(opfs)
      expect(again.recovery).toBeNull()
      expect(await again.texts(own)).toEqual(pending)
      expect(generation(opfs)).toBe(before)
      await again.close()
    },
  )
})

describe('damage', () => {
  test('[LOG-9] a byte of a confirmed message in its page: noticed, the rest salvaged, the server asked for what is missing', async () => {
    const opfs = left.copy()
    flip(opfs.bytes(`${generation(opfs)}/data`), server[20]!)
    const again = await openStoredDevice(opfs)
    expect(again.recovery).toMatchObject({cause: 'damaged', restored: 3, lost: 0})
    expect(again.recovery!.refilling).toBeGreaterThan(0)
    expect(await again.texts(own)).toEqual(pending)
    const log = await again.log(shared)
    expect(log.isBehind).toBe(true)
    await log.receive(page)
    expect(log.isBehind).toBe(false)
    expect(await again.texts(shared)).toEqual(server)
    expect((await again.store.device()).id).toBe(device)
    await again.close()
  })

  test('[LOG-9] damage that a later query meets stops the database, and the next opening salvages', async () => {
    const opfs = new MemoryOpfs()
    const first = await openStoredDevice(opfs)
    const log = await first.log(env.id('session'))
    await log.append(maya, [opened, message('kept')])
    await first.database.db.exec(`create table notes (t text); insert into notes values ('written by a tool')`)
    await first.database.db.query('checkpoint')
    await first.close()
    flip(opfs.bytes(`${generation(opfs)}/data`), 'written by a tool')
    const damaged = await openStoredDevice(opfs)
    expect(damaged.recovery).toBeNull()
    await expect(damaged.database.db.query('select * from notes')).rejects.toMatchObject({code: 'peer_gone'})
    await expect.poll(() => damaged.stopped).toMatchObject([{code: 'database_damaged'}])
    await expect(damaged.texts(log.id)).rejects.toMatchObject({code: 'peer_gone'})
    const again = await openStoredDevice(opfs)
    expect(again.recovery).toMatchObject({cause: 'damaged', lost: 0, emptyTables: ['notes']})
    expect(await again.texts(log.id)).toEqual(['kept'])
    await again.close()
  })

  test.each([
    ['the data file is cut in half', (opfs: MemoryOpfs, at: string) => cut(opfs, `${at}/data`, 0.5)],
    ['the data file is empty', (opfs: MemoryOpfs, at: string) => cut(opfs, `${at}/data`, 0)],
    ['the tree is empty', emptyTree],
    ['all three files are gone', removeAll],
  ])('[LOG-9] %s: what was acknowledged comes back with its ids, in its order', async (_what, damage) => {
    const opfs = left.copy()
    damage(opfs, generation(opfs))
    const again = await openStoredDevice(opfs)
    expect(again.recovery).toMatchObject({restored: 3, lost: 0})
    expect(await again.texts(own)).toEqual(pending)
    expect((await again.store.device()).id).toBe(device)
    const log = await again.log(own)
    await log.append(maya, [message('after')])
    expect((await log.read(9)).map(({event}) => event.deviceSeq)).toEqual([1, 2, 3, 4])
    await again.close()
  })

  test('[LOG-9] the write-ahead log at a pending event: the event comes back from the outbox, and the person is told', async () => {
    const opfs = left.copy()
    flip(opfs.bytes(`${generation(opfs)}/data`), 'in the log only')
    const again = await openStoredDevice(opfs)
    // The log ends there: the confirmed event behind it is missing too, and the server brings it again.
    expect(again.recovery).toMatchObject({cause: 'behind', restored: 1, refilling: 1, lost: 0})
    expect((await again.log(shared)).isBehind).toBe(true)
    expect(await again.texts(own)).toEqual(pending)
    await again.dismissRecovery()
    await again.close()
    expect((await openStoredDevice(opfs)).recovery).toBeNull()
  })
})

describe('the data of the site is deleted while the database is open', () => {
  test('[LOG-9] nothing is acknowledged any more, what was acknowledged is written anew, and the person is told', async () => {
    const opfs = left.copy()
    const first = await openStoredDevice(opfs)
    const log = await first.log(own)
    await log.append(maya, [message('before')])
    opfs.clear()
    await expect.poll(() => first.stopped.length, {timeout: 60_000}).toBe(1)
    await expect(log.append(maya, [message('after')])).rejects.toMatchObject({code: 'peer_gone'})
    const again = await openStoredDevice(opfs)
    expect(again.recovery).toMatchObject({cause: 'cleared', lost: 0, setAside: null})
    expect(await again.texts(own)).toEqual([...pending, 'before'])
    expect((await again.store.device()).id).toBe(device)
    await again.close()
    expect((await openStoredDevice(opfs)).recovery).toMatchObject({cause: 'cleared'})
  })
})

test('[ID-6] a database that begins anew still belongs to its owner', async () => {
  const opfs = new MemoryOpfs()
  const first = await openStoredDevice(opfs)
  const owner = {tenant: 'acme', subject: 'maya'} as Parameters<typeof first.store.setOwner>[0]
  await first.store.device()
  await first.store.setOwner(owner)
  removeAll(opfs, generation(opfs))
  const again = await openStoredDevice(opfs)
  expect(again.recovery).toMatchObject({cause: 'emptied', lost: 0})
  expect(await again.store.owner()).toEqual(owner)
  await again.close()
})

function emptyTree(opfs: MemoryOpfs, at: string): void {
  for (const name of ['tree.0', 'tree.1']) cut(opfs, `${at}/${name}`, 0)
}

function removeAll(opfs: MemoryOpfs, at: string): void {
  for (const name of ['tree.0', 'tree.1', 'data']) opfs.files.delete(`${at}/${name}`)
}

function cut(opfs: MemoryOpfs, path: string, part: number): void {
  const bytes = opfs.bytes(path)
  opfs.overwrite(path, bytes.slice(0, bytes.length * part))
}

/** One bit of every place where the text stands: in a page, in the write-ahead log, or in both. */
function flip(bytes: Uint8Array, text: string): void {
  const all = Buffer.from(bytes)
  for (let at = all.indexOf(text); at >= 0; at = all.indexOf(text, at + 1)) bytes[at]! ^= 1
}
