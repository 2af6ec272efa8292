import {describe, expect, test} from 'vitest'
import type {EditOutbox} from '../../runtime/page/edit-outbox.ts'
import {leftEdits} from '../../runtime/page/left-edits.ts'
import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'

/** As `localStorage`: the entries are its own enumerable properties. */
class Entries {
  getItem(key: string) {
    return (this as unknown as Record<string, string>)[key] ?? null
  }
  setItem(key: string, value: string) {
    ;(this as unknown as Record<string, string>)[key] = value
  }
  removeItem(key: string) {
    delete (this as unknown as Record<string, string>)[key]
  }
}

const storage = () => new Entries() as unknown as Storage
const session = env.id('session')
const week = 7 * 24 * 3_600_000

function outbox(...updates: number[][]): EditOutbox {
  const batches = updates.map(bytes => ({event: env.id('event'), update: Uint8Array.from(bytes)}))
  return {session, document: 'draft', unsent: () => batches} as unknown as EditOutbox
}

type Update = Parameters<Parameters<ReturnType<typeof leftEdits>['store']>[0]['updateDocument']>

function service(fault?: HoldfastError) {
  const stored: Update[] = []
  return {
    stored,
    updateDocument: async (...update: Update) => {
      stored.push(update)
      if (fault) throw fault
    },
  }
}

describe('edits that a page leaves behind', () => {
  test('[WRK-2] are stored by the next page in their order, each under its own id, and are gone then', async () => {
    const kept = storage()
    const edits = outbox([1, 2], [3], [4])
    leftEdits('desk', () => kept).keep([edits], 0)
    const next = service()
    await leftEdits('desk', () => kept).store(next, 1)
    expect(next.stored).toEqual(edits.unsent().map(({event, update}) => [session, event, 'draft', update]))
    expect(Object.keys(kept)).toEqual([])
  })

  test.each(['desk~p1', 'desk:p1', 'des', 'desk:'])(
    '[ID-6] are not taken or removed by the database "%s"',
    async other => {
      const kept = storage()
      leftEdits('desk', () => kept).keep([outbox([1])], 0)
      leftEdits(other, () => kept).keep([outbox([2])], 0)
      const mine = service()
      await leftEdits(other, () => kept).store(mine, 1)
      expect(mine.stored.map(([, , , update]) => [...(update as Uint8Array)])).toEqual([[2]])
      leftEdits(other, () => kept).remove()
      expect(Object.keys(kept)).toHaveLength(1)
      const owner = service()
      await leftEdits('desk', () => kept).store(owner, 1)
      expect(owner.stored).toHaveLength(1)
    },
  )

  test.each([
    ['their session was erased', new HoldfastError('erased', 'Erased.'), 1, 0],
    ['they cannot be taken', new HoldfastError('bad_input', 'Damaged.'), 1, 0],
    ['the database does not answer', new HoldfastError('deadline', 'Too late.'), 1, 1],
    ['nothing took them for a week', new HoldfastError('deadline', 'Too late.'), week + 1, 0],
  ])('[RET-3] when %s', async (_, fault, now, left) => {
    const kept = storage()
    leftEdits('desk', () => kept).keep([outbox([1])], 0)
    await leftEdits('desk', () => kept).store(service(fault), now)
    expect(Object.keys(kept)).toHaveLength(left)
  })

  test('[RET-3] are removed with their database, whatever they hold', () => {
    const kept = storage()
    const left = leftEdits('desk', () => kept)
    left.keep([outbox([1], [2])], 0)
    kept.setItem('theme', 'dark')
    left.remove()
    expect(Object.keys(kept)).toEqual(['theme'])
  })

  test('fail in silence where storage is forbidden', async () => {
    const left = leftEdits('desk', () => {
      throw new DOMException('denied', 'SecurityError')
    })
    left.keep([outbox([1])], 0)
    await left.store(service(), 1)
    left.remove()
  })
})
