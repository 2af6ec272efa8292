import {describe, expect, test} from 'vitest'
import {TreeDamaged} from '../../../runtime/storage/one-file/tree-log.ts'
import {MemoryFiles} from '../../support/memory-files.ts'
import {contentsOf, opened, sorted} from '../../support/one-file.ts'

describe('a log of the file tree', () => {
  async function synced(): Promise<MemoryFiles> {
    const files = new MemoryFiles()
    const fs = opened(files)
    for (const path of ['first', 'second', 'third']) {
      fs.writeFile(path, path)
      await fs.syncToFs()
    }
    return files
  }
  /** More lines than one log takes, behind files of these names; they are not synced. */
  async function longLog(...names: string[]) {
    const files = new MemoryFiles()
    const fs = opened(files)
    for (const name of names) fs.writeFile(name, 'text')
    await fs.syncToFs()
    for (let i = 0; i < 2600; i++) {
      fs.writeFile('passing', '')
      fs.unlink('passing')
    }
    return {files, fs}
  }
  const current = (contents: Uint8Array[]) => (contents[1]?.length ? 1 : 2)

  test('whose last line is cut short opens without it', async () => {
    const {contents} = await synced()
    const log = contents[current(contents)]!
    contents[current(contents)] = log.slice(0, -3)
    expect(opened(new MemoryFiles(contents)).readdir('/')).toEqual(['first', 'second', 'third'])
    contents[current(contents)] = new Uint8Array([...log, ...new TextEncoder().encode('00000000 ["remove",1')])
    expect(opened(new MemoryFiles(contents)).readdir('/')).toEqual(['first', 'second', 'third'])
  })

  test('that is gone leaves the file alone, for whoever can still read it', async () => {
    const {contents} = await synced()
    const emptied = new MemoryFiles([contents[0]!, new Uint8Array(), new Uint8Array()])
    expect(opened(emptied).isEmpty).toBe(true)
    expect(emptied.contents[0]).toEqual(contents[0])
  })

  test('of which a loss of power took a line in the middle counts up to that: nothing after it was promised', async () => {
    const {contents} = await synced()
    const fs = opened(new MemoryFiles(contents))
    expect(fs.readdir('/')).toEqual(['first', 'second', 'third'])
    const files = new MemoryFiles(contents)
    const going = opened(files)
    for (const path of ['fourth', 'fifth', 'sixth']) going.mkdir(path)
    const which = current(files.contents)
    const log = Buffer.from(files.contents[which]!)
    const at = log.indexOf('"fifth"')
    const torn = new MemoryFiles(files.contents.with(which, log.fill(0, at, at + 5)))
    expect(opened(torn).readdir('/')).toEqual(['first', 'second', 'third', 'fourth'])
    expect(opened(new MemoryFiles(torn.contents)).readdir('/')).toHaveLength(4)
  })

  test('that was written over in the middle, or emptied of what it began with, is damaged, never half believed', async () => {
    const {contents} = await synced()
    const which = current(contents)
    const log = contents[which]!
    const lines = new TextDecoder().decode(log).split('\n')
    for (const line of [0, 1]) {
      const broken = lines.with(line, lines[line]!.replace(/.$/, '~')).join('\n')
      const files = new MemoryFiles(contents.with(which, new TextEncoder().encode(broken)))
      expect(() => opened(files)).toThrow(TreeDamaged)
    }
    const swapped = new TextEncoder().encode([lines[0], ...lines.slice(2)].join('\n'))
    expect(() => opened(new MemoryFiles(contents.with(which, swapped)))).toThrow('does not fit')
  })

  test('that has become long is begun anew, and a kill at any step of that leaves one that counts', async () => {
    const {files, fs} = await longLog('kept')
    const before = files.steps.length
    await fs.syncToFs()
    expect(files.contents[1]?.length).toBeGreaterThan(0)
    expect(files.contents[1]?.length).toBeLessThan(300)
    expect(files.contents[2]?.length).toBe(0)
    for (let at = before; at <= files.steps.length; at++) {
      for (const torn of [false, true]) {
        expect(sorted(contentsOf(opened(files.after(at, torn))))).toEqual(sorted(contentsOf(fs)))
      }
    }
  })
  test('that a killed worker wrote is as safe as it looks once the next one goes on from it', async () => {
    const files = await synced()
    const killed = opened(files)
    for (const path of ['b', 'c', 'd']) killed.mkdir(path)
    const next = opened(files)
    const from = files.steps.length
    next.mkdir('e')
    const c = files.steps.findIndex(step => 'write' in step && Buffer.from(step.write).includes('"c"'))
    expect(c).toBeLessThan(from)
    const names = opened(files.afterPowerLoss(files.steps.length, step => step !== c)).readdir('/')
    expect(names).toEqual(['first', 'second', 'third', 'b', 'c', 'd', 'e'])
  })

  test('that was begun anew but not flushed does not count once the old one has gone on', async () => {
    const {files, fs} = await longLog()
    // The log is flushed when the snapshot is whole; before it only the data, and the emptied file.
    let flushes = 0
    const handle = files.handles[1]!
    const flush = handle.flush.bind(handle)
    handle.flush = () => {
      flushes += 1
      if (flushes === 2) throw new DOMException('no room', 'QuotaExceededError')
      flush()
    }
    await fs.syncToFs()
    expect(flushes).toBe(3)
    fs.mkdir('acknowledged')
    await fs.syncToFs()
    expect(opened(new MemoryFiles(files.contents)).readdir('/')).toEqual(['acknowledged'])
  })

  test('that has become long on a device that is full goes on as it is', async () => {
    const {files, fs} = await longLog('kept')
    files.fault = {on: 'write', error: new DOMException('no room', 'QuotaExceededError')}
    await fs.syncToFs()
    expect(files.fault).toBeNull()
    expect(sorted(contentsOf(opened(new MemoryFiles(files.contents))))).toEqual([['kept', 'text']])
  })
})
