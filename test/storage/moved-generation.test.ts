import {beforeAll, describe, expect, test} from 'vitest'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {generationsIn} from '../../runtime/storage/pglite/opfs-generations.ts'
import type {MemoryOpfs} from '../support/memory-opfs.ts'
import {type LeftDevice, leaveDevice, maya, message, openStoredDevice} from '../support/stored-device.ts'

const place = 'holdfast/desk'
let left: LeftDevice
beforeAll(async () => {
  left = await leaveDevice()
})

const generation = (opfs: MemoryOpfs) =>
  (JSON.parse(new TextDecoder().decode(opfs.bytes(`${place}/generation.json`))) as {generation: string}).generation

describe('a frozen owner whose files another one has copied', () => {
  test('[CUS-2] the new owner has everything; the old one, thawed, deletes and reports nothing', async () => {
    const opfs = left.opfs.copy()
    const frozen = await openStoredDevice(opfs)
    const next = await openStoredDevice(opfs, {tookOver: true})
    const moved = generation(opfs)
    expect(moved).toMatch(/\+1$/)
    const log = await next.log(left.own.session)
    await log.append(maya, [message('after')])
    // A browser may let files go that somebody holds: the old names are gone when the first owner looks for them.
    for (const path of opfs.files.keys()) {
      if (path.startsWith(`${place}/${moved.replace('+1', '')}/`) || /outbox\.\d$/.test(path)) opfs.files.delete(path)
    }
    await expect.poll(() => frozen.stopped.map(({cause}) => cause)).toMatchObject([{code: 'database_locked'}])
    expect(generation(opfs)).toBe(moved)
    expect(opfs.files.has(`${place}/cleared.json`)).toBe(false)
    await log.append(maya, [message('later')])
    const again = await openStoredDevice(opfs)
    expect(again.recovery).toBeNull()
    expect(await again.texts(left.own.session)).toEqual([...left.own.texts, 'after', 'later'])
    await again.close()
  })

  test('[LOG-9] without a marker the files that are held are copied, and nothing is set aside', async () => {
    const opfs = left.opfs.copy()
    const frozen = await openStoredDevice(opfs)
    opfs.files.delete(`${place}/generation.json`)
    const next = await openStoredDevice(opfs, {tookOver: true})
    expect(next.recovery).toBeNull()
    expect(await next.texts(left.own.session)).toEqual(left.own.texts)
    expect(frozen.stopped).toEqual([])
    await next.close()
  })
})

describe('a marker that is rebuilt', () => {
  test('[LOG-9] it names the copy rather than its original, whichever was changed last', async () => {
    const opfs = left.opfs.copy()
    const frozen = await openStoredDevice(opfs)
    const next = await openStoredDevice(opfs, {tookOver: true})
    await (await next.log(left.own.session)).append(maya, [message('in the copy')])
    const moved = generation(opfs)
    const original = moved.replace('+1', '')
    const files = [...left.opfs.files.keys()].filter(path => path.startsWith(`${place}/${original}/`))
    for (const path of files) opfs.overwrite(path, left.opfs.bytes(path))
    opfs.files.delete(`${place}/generation.json`)
    const again = await openStoredDevice(opfs)
    expect(generation(opfs)).toBe(moved)
    expect(again.recovery).toBeNull()
    expect(await again.texts(left.own.session)).toEqual([...left.own.texts, 'in the copy'])
    expect(frozen.stopped.filter(({cause}) => HoldfastError.is(cause, 'not_durable'))).toEqual([])
    await again.close()
  })

  test('[LOG-9] it never names a copy that was not finished', async () => {
    const opfs = left.opfs.copy()
    const original = generation(opfs)
    for (const name of ['data', 'tree.0', 'tree.1']) {
      opfs.overwrite(`${place}/${original}+1/${name}`, opfs.bytes(`${place}/${original}/${name}`))
    }
    opfs.files.delete(`${place}/generation.json`)
    const again = await openStoredDevice(opfs)
    expect(generation(opfs)).toBe(original)
    expect(again.recovery).toBeNull()
    expect(await again.texts(left.own.session)).toEqual(left.own.texts)
    await again.close()
  })

  test('[LOG-9] it never names a database that was given up while the one after it is whole', async () => {
    const opfs = left.opfs.copy()
    const given = generation(opfs)
    for (const name of ['tree.0', 'tree.1']) opfs.overwrite(`${place}/${given}/${name}`, new Uint8Array())
    const salvaged = await openStoredDevice(opfs)
    await salvaged.close()
    const used = generation(opfs)
    opfs.files.delete(`${place}/generation.json`)
    const folder = await (await opfs.root.getDirectoryHandle('holdfast')).getDirectoryHandle('desk')
    expect((await generationsIn(folder)).map(({name}) => name)).toEqual([used, given])
    const again = await openStoredDevice(opfs)
    expect(generation(opfs)).toBe(used)
    expect(await again.texts(left.own.session)).toEqual(left.own.texts)
    await again.close()
  })
})
