import {describe, expect, test, vi} from 'vitest'
import {outboxFiles} from '../../runtime/storage/outbox/outbox-files.ts'
import {MemoryFiles} from '../support/memory-files.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const texts = (records: readonly Uint8Array[]) => records.map(record => new TextDecoder().decode(record))

function pair() {
  const files = new MemoryFiles([new Uint8Array(), new Uint8Array()])
  const [first, second] = files.handles
  if (!first || !second) throw new Error('Expected two files.')
  return {first, second}
}

async function read({first, second}: ReturnType<typeof pair>) {
  const {records, unreadable} = await outboxFiles([first, second]).load()
  return {records: texts(records), unreadable}
}

describe('an outbox in two files', () => {
  test.each(['truncate', 'flush'] as const)(
    '[LOG-9] keeps every record if the old file cannot be emptied (%s fails)',
    async operation => {
      const files = pair()
      const outbox = outboxFiles([files.first, files.second])
      await outbox.load()
      await outbox.append(bytes('one'), {flush: true})
      const [current, spare] = files.first.getSize() > 0 ? [files.first, files.second] : [files.second, files.first]
      expect(spare.getSize()).toBe(0)
      vi.spyOn(current, operation).mockImplementationOnce(() => {
        throw new Error('The file system failed.')
      })
      await expect(outbox.replace([bytes('one'), bytes('two')])).rejects.toThrow('The file system failed.')
      await outbox.append(bytes('three'), {flush: true})
      expect(await read(files)).toMatchObject({records: ['one', 'two', 'three']})
    },
  )

  test('[LOG-9] returns the records of both files if it cannot tell which one is current', async () => {
    const files = pair()
    const outbox = outboxFiles([files.first, files.second])
    await outbox.load()
    await outbox.append(bytes('one'), {flush: true})
    await outbox.replace([bytes('one')])
    const old = files.first.getSize() > 0 ? files.first : files.second
    const kept = new Uint8Array(old.getSize())
    old.read(kept, {at: 0})
    await outbox.replace([bytes('one'), bytes('two')])
    old.write(kept, {at: 0})
    const current = old === files.first ? files.second : files.first
    current.write(bytes('?'), {at: 12})
    const found = await read(files)
    expect(new Set(found.records)).toEqual(new Set(['one', 'two']))
    expect(found.unreadable).toBeGreaterThan(0)
  })
})
