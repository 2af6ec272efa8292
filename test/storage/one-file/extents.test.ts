import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {
  chunkBytes,
  chunksIn,
  type Extent,
  FreeChunks,
  joined,
  parted,
  piecesOf,
} from '../../../runtime/storage/one-file/extents.ts'

const chunksOf = (extents: readonly Extent[]) =>
  extents.flatMap(([start, count]) => Array.from({length: count}, (_, i) => start + i))

describe('chunks of the one file', () => {
  test('are never given to two, come back when they are given up, and the file ends behind the last in use', () => {
    const step = fc.oneof(
      fc.record({take: fc.integer({min: 1, max: 9}), behind: fc.nat({max: 9})}),
      fc.record({give: fc.nat({max: 9})}),
    )
    fc.assert(
      fc.property(fc.array(step, {maxLength: 60}), steps => {
        const free = new FreeChunks()
        const held: Extent[] = []
        for (const each of steps) {
          if ('take' in each) {
            const last = held[each.behind]
            const extent = free.take(each.take, last ? last[0] + last[1] : -1)
            expect(extent[1]).toBeGreaterThanOrEqual(1)
            expect(extent[1]).toBeLessThanOrEqual(each.take)
            held.push(extent)
          } else free.give(held.splice(each.give, 1))
          const used = chunksOf(held)
          expect(new Set(used).size).toBe(used.length)
          free.trim()
          expect(free.end).toBe(used.length === 0 ? 0 : Math.max(...used) + 1)
          // What is free is what another look at the same file would find.
          const again = new FreeChunks(held)
          expect(again.take(1, -1)).toEqual(new FreeChunks(held).take(1, -1))
          expect(again.end).toBeGreaterThanOrEqual(free.end)
        }
      }),
    )
  })

  test('that two files claim are told', () => {
    expect(
      () =>
        new FreeChunks([
          [0, 3],
          [2, 1],
        ]),
    ).toThrow('chunk 2 is used twice')
  })

  test('of a file are found by position, whatever pieces it is in, and parted where it is cut', () => {
    const extents = fc
      .array(fc.record({gap: fc.integer({min: 1, max: 3}), count: fc.integer({min: 1, max: 4})}), {
        minLength: 1,
        maxLength: 5,
      })
      .map(list => {
        let end = 0
        return list.map(({gap, count}): Extent => {
          const start = end + gap
          end = start + count
          return [start, count]
        })
      })
    fc.assert(
      fc.property(extents, fc.nat(), fc.nat(), (list, a, b) => {
        const size = chunksIn(list) * chunkBytes
        const position = a % size
        const length = 1 + (b % (size - position))
        const whole = chunksOf(list)
        let done = 0
        for (const {at, from, bytes} of piecesOf(list, position, length)) {
          expect(from).toBe(done)
          const first = position + from
          expect(at).toBe((whole[Math.floor(first / chunkBytes)] ?? -1) * chunkBytes + (first % chunkBytes))
          done += bytes
        }
        expect(done).toBe(length)
        const cut = a % (whole.length + 1)
        const {kept, rest} = parted(list, cut)
        expect([chunksOf(kept), chunksOf(rest)]).toEqual([whole.slice(0, cut), whole.slice(cut)])
        expect(chunksOf(rest.reduce<Extent[]>(joined, kept))).toEqual(whole)
      }),
    )
  })
})
