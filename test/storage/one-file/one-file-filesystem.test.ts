import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {chunkBytes} from '../../../runtime/storage/one-file/extents.ts'
import {errno} from '../../../runtime/storage/one-file/file-tree.ts'
import type {OneFileFilesystem} from '../../../runtime/storage/one-file/one-file-filesystem.ts'
import {MemoryFiles} from '../../support/memory-files.ts'
import {type Contents, contentsOf, opened, read, sorted} from '../../support/one-file.ts'

const names = ['a', 'b', 'c', 'd']
type Op =
  | {do: 'write'; name: string; position: number; length: number; fill: number}
  | {do: 'truncate'; name: string; length: number}
  | {do: 'rename'; name: string; to: string}
  | {do: 'unlink'; name: string}
  | {do: 'sync'}

const name = fc.constantFrom(...names)
/** Within a page as often as across some. */
const position = fc.oneof(fc.nat({max: 300}), fc.nat({max: 3 * chunkBytes}))
const length = fc.oneof(fc.integer({min: 1, max: 300}), fc.integer({min: 1, max: 2 * chunkBytes}))
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('write' as const),
      name,
      position,
      length,
      fill: fc.integer({min: 1, max: 255}),
    }),
  },
  {weight: 2, arbitrary: fc.record({do: fc.constant('truncate' as const), name, length: position})},
  {weight: 1, arbitrary: fc.record({do: fc.constant('rename' as const), name, to: name})},
  {weight: 1, arbitrary: fc.record({do: fc.constant('unlink' as const), name})},
  {weight: 2, arbitrary: fc.record({do: fc.constant('sync' as const)})},
)

/** What any other file system would hold after the same. */
function applied(files: Contents, op: Op): Contents {
  const next = new Map(files)
  if (op.do === 'sync') return next
  const before = files.get(op.name) ?? ''
  if (op.do === 'write') {
    const filled = String.fromCharCode(op.fill).repeat(op.length)
    next.set(
      op.name,
      before.padEnd(op.position, '\0').slice(0, op.position) + filled + before.slice(op.position + op.length),
    )
  } else if (op.do === 'truncate' && files.has(op.name)) {
    next.set(op.name, before.slice(0, op.length).padEnd(op.length, '\0'))
  } else if (op.do === 'rename' && files.has(op.name) && op.name !== op.to) {
    next.delete(op.name)
    next.set(op.to, before)
  } else if (op.do === 'unlink') next.delete(op.name)
  return next
}

async function perform(fs: OneFileFilesystem, op: Op): Promise<void> {
  const there = 'name' in op && fs.readdir('/').includes(op.name)
  switch (op.do) {
    case 'write': {
      if (!there) fs.writeFile(op.name, '')
      const fd = fs.open(op.name)
      fs.write(fd, new Uint8Array(op.length).fill(op.fill), 0, op.length, op.position)
      return fs.close(fd)
    }
    case 'truncate':
      return there ? fs.truncate(op.name, op.length) : undefined
    case 'rename':
      return there ? fs.rename(op.name, op.to) : undefined
    case 'unlink':
      return there ? fs.unlink(op.name) : undefined
    case 'sync':
      return await fs.syncToFs()
  }
}

describe('all files in one', () => {
  test('hold what was written to them, before and after they are opened again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, {maxLength: 40}), async ops => {
        const files = new MemoryFiles()
        const fs = opened(files)
        let expected: Contents = new Map()
        for (const each of ops) {
          await perform(fs, each)
          expected = applied(expected, each)
        }
        expect(sorted(contentsOf(fs))).toEqual(sorted(expected))
        await fs.syncToFs()
        expect(sorted(contentsOf(opened(new MemoryFiles(files.contents))))).toEqual(sorted(expected))
      }),
      {numRuns: 150},
    )
  })

  test('[SYNC-5] killed after any step, also half-way through one, open again, and what was synced and left alone is whole', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(op, {minLength: 5, maxLength: 25}), fc.nat(), fc.boolean(), async (ops, at, torn) => {
        const files = new MemoryFiles()
        const fs = opened(files)
        const synced: {steps: number; contents: Contents; touched: Set<string>}[] = []
        let expected: Contents = new Map()
        for (const each of [{do: 'sync'} as Op, ...ops]) {
          await perform(fs, each)
          expected = applied(expected, each)
          if (each.do === 'sync') synced.push({steps: files.steps.length, contents: expected, touched: new Set()})
          else
            for (const touched of [each.name, 'to' in each ? each.to : each.name]) synced.at(-1)?.touched.add(touched)
        }
        const killedAt = at % (files.steps.length + 1)
        const last = synced.findLast(({steps}) => steps <= killedAt)
        const then = files.after(killedAt, torn)
        const again = opened(then)
        const found = contentsOf(again)
        for (const [path, bytes] of last?.contents ?? []) {
          if (!last?.touched.has(path)) expect(found.get(path)).toEqual(bytes)
        }
        // And it goes on: what is free holds nothing, so a file that grows into it shows zeros.
        await again.syncToFs()
        again.writeFile('new', '')
        again.truncate('new', 6 * chunkBytes)
        expect(read(again, 'new')).toBe('\0'.repeat(6 * chunkBytes))
      }),
      {numRuns: 400},
    )
  })

  test('[RET-3] of what was removed, cut off or written over nothing is left in the file once it is synced', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    const secret = 'Lena Brandt, Hafenstrasse 4. '.repeat(600)
    fs.writeFile('other', 'kept')
    for (const path of ['cut', 'replaced', 'removed']) fs.writeFile(path, secret)
    await fs.syncToFs()
    const size = files.contents[0]?.length ?? 0
    fs.unlink('removed')
    // Postgres has its tables open all the time.
    fs.open('cut')
    fs.truncate('cut', 3)
    fs.rename('other', 'replaced')
    await fs.syncToFs()
    const [data = new Uint8Array()] = files.contents
    expect(new TextDecoder().decode(data)).not.toContain('Brandt')
    expect(read(fs, 'cut')).toBe('Len')
    expect(read(fs, 'replaced')).toBe('kept')
    expect(data.length).toBeLessThan(size)
    // Also when it is killed before it came to that.
    const again = opened(new MemoryFiles(files.contents))
    await again.syncToFs()
    expect(sorted(contentsOf(again))).toEqual(sorted(contentsOf(fs)))
  })

  test('a file that is removed while somebody has it open is read to the end, and its place is not given away', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('old', 'still read')
    const fd = fs.open('old')
    fs.unlink('old')
    await fs.syncToFs()
    fs.writeFile('new', 'x'.repeat(chunkBytes * 2))
    await fs.syncToFs()
    const bytes = new Uint8Array(10)
    expect(fs.read(fd, bytes, 0, 10, 0)).toBe(10)
    expect(new TextDecoder().decode(bytes)).toBe('still read')
    fs.close(fd)
    await fs.syncToFs()
    expect(new TextDecoder().decode(files.contents[0])).not.toContain('still read')
  })

  test('stays in few pieces when many files grow by a page in turn', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    const fds = names.map(path => {
      fs.writeFile(path, '')
      return fs.open(path)
    })
    const page = new Uint8Array(chunkBytes)
    for (let i = 0; i < 1000; i++) for (const fd of fds) fs.write(fd, page, 0, chunkBytes, i * chunkBytes)
    await fs.syncToFs()
    const used = files.contents[0]?.length ?? 0
    expect(used).toBeLessThanOrEqual(1.15 * names.length * 1000 * chunkBytes)
    const lines = new TextDecoder().decode(files.contents[2])
    const extents = [...lines.matchAll(/"extents",\d+,(\[\[.*?\]\])/g)].map(
      ([, list]) => JSON.parse(list ?? '[]').length,
    )
    expect(Math.max(...extents)).toBeLessThan(60)
  })

  const wrong: [string, (fs: OneFileFilesystem) => void, keyof typeof errno][] = [
    ['opening what is not there', fs => void fs.open('none'), 'ENOENT'],
    ['opening a folder', fs => void fs.open('folder'), 'EISDIR'],
    ['a path through a file', fs => void fs.lstat('file/inside'), 'ENOTDIR'],
    ['a folder of a name that is taken', fs => fs.mkdir('file'), 'EEXIST'],
    ['removing a folder that is not empty', fs => fs.rmdir('folder'), 'ENOTEMPTY'],
    ['moving a file over a folder', fs => fs.rename('file', 'folder'), 'EISDIR'],
    ['moving a folder over a file', fs => fs.rename('folder', 'file'), 'ENOTDIR'],
    ['reading from what is closed', fs => void fs.read(99, new Uint8Array(1), 0, 1, 0), 'EBADF'],
  ]
  test.each(wrong)('%s is told in the terms of Postgres, and changes nothing', (_, attempt, code) => {
    const fs = opened(new MemoryFiles())
    fs.writeFile('file', 'text')
    fs.mkdir('folder')
    fs.writeFile('folder/inside', '')
    expect(() => attempt(fs)).toThrow(expect.objectContaining({code: errno[code]}))
    expect(fs.readdir('/').toSorted()).toEqual(['file', 'folder'])
    expect(read(fs, 'file')).toBe('text')
  })

  test('[RET-3] a file that is cut gives up what is cut off in one step: a kill leaves none of it to it', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('cut', 'Hafenstrasse'.repeat(3000))
    await fs.syncToFs()
    const from = files.steps.length
    fs.truncate('cut', chunkBytes)
    for (let at = from; at <= files.steps.length; at++) {
      const then = files.after(at)
      const again = opened(then)
      again.truncate('cut', 0)
      await again.syncToFs()
      expect(Buffer.from(then.contents[0]!).includes('Hafenstrasse')).toBe(false)
    }
  })

  test('[RET-3] what was wiped is wiped before anybody may have its place, also on the disk', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('removed', 'Hafenstrasse'.repeat(3000))
    fs.writeFile('last', 'x')
    await fs.syncToFs()
    const [from] = [files.steps.length, fs.unlink('removed')]
    await fs.syncToFs()
    for (let at = from; at <= files.steps.length; at++) {
      for (const file of [0, 1, 2]) {
        const then = files.afterPowerLoss(at, step => files.steps[step]?.file === file)
        const again = opened(then)
        if (again.readdir('/').includes('removed')) again.unlink('removed')
        await again.syncToFs()
        expect(Buffer.from(then.contents[0]!).includes('Hafenstrasse')).toBe(false)
      }
    }
  })

  test('a removal that could not be written down is told with the next sync, as PGlite does not tell Postgres', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('stays', 'text')
    await fs.syncToFs()
    files.fault = {on: 'write', error: new DOMException('no room', 'QuotaExceededError')}
    expect(() => fs.unlink('stays')).toThrow(expect.objectContaining({code: errno.ENOSPC}))
    await expect(fs.syncToFs()).rejects.toMatchObject({code: errno.ENOSPC})
    expect(opened(new MemoryFiles(files.contents)).readdir('/')).toEqual(['stays'])
  })

  test('[SYNC-5] a write that finds no room is an error that Postgres knows, and what follows is kept', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('file', 'before')
    await fs.syncToFs()
    for (const on of ['data', 'tree'] as const) {
      files.fault = {on: 'write', error: new DOMException('no room', 'QuotaExceededError')}
      const attempt = () => (on === 'data' ? fs.writeFile('file', 'during') : fs.truncate('file', 100 * chunkBytes))
      expect(attempt).toThrow(expect.objectContaining({code: errno.ENOSPC}))
      expect(fs.full).toBe(true)
    }
    fs.writeFile('file', 'after!')
    fs.writeFile('next', 'x')
    await fs.syncToFs()
    // What was to be taken for it is there for the next.
    expect(files.contents[0]?.length).toBeLessThan(3 * chunkBytes)
    const again = opened(new MemoryFiles(files.contents))
    expect(read(again, 'file')).toBe('after!')
    expect(again.readdir('/')).toEqual(['file', 'next'])
  })

  test('says how far a file had grown, also when it is closed without another sync', async () => {
    const files = new MemoryFiles()
    const fs = opened(files)
    fs.writeFile('grown', 'text')
    await fs.syncToFs()
    const fd = fs.open('grown')
    fs.write(fd, new TextEncoder().encode(' and more'), 0, 9, 4)
    await fs.closeFs()
    expect(sorted(contentsOf(opened(new MemoryFiles(files.contents))))).toEqual([['grown', 'text and more']])
  })
})
