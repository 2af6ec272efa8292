import {type Handle, readAll, writeAll} from '../one-file/handle.ts'
import {type Frames, frameOf, framesIn} from './frames.ts'
import type {OutboxStorage} from './outbox-storage.ts'

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()]

/**
 * Stores an outbox in two alternating files. The first record of each is its generation, and the higher generation is
 * current. `replace` writes and flushes the other file first, then empties the current one.
 */
export function outboxFiles(pair: readonly [Handle, Handle]): OutboxStorage {
  let [current, spare] = pair
  let generation = 0
  let end = 0
  let flushed = true

  function write(records: readonly Uint8Array[], at: number): number {
    let to = at
    for (const record of records) {
      const frame = frameOf(record)
      writeAll(current, frame, to)
      to += frame.length
    }
    return to
  }

  function begin(records: readonly Uint8Array[]): void {
    ;[current, spare] = [spare, current]
    try {
      current.truncate(0)
      const size = write([encoder.encode(String(generation + 1)), ...records], 0)
      current.flush()
      ;[generation, end, flushed] = [generation + 1, size, true]
    } catch (error) {
      // The old file stays current. Empty the new one: it may be complete, and it would win at the next load.
      ;[current, spare] = [spare, current]
      spare.truncate(0)
      throw error
    }
    // The new file is current, even if the old one cannot be emptied.
    spare.truncate(0)
    spare.flush()
  }

  return {
    get size() {
      return end
    },
    async load() {
      const [first, second] = pair.map(handle => ({handle, ...opened(framesIn(readAll(handle)))}))
      if (!first || !second) return {records: [], unreadable: 0}
      const [newer, older] = first.generation >= second.generation ? [first, second] : [second, first]
      ;[current, spare] = [newer.handle, older.handle]
      ;[generation, end] = [newer.generation, newer.end]
      if (end < current.getSize()) current.truncate(end)
      // Ignore the older generation: a crash can leave it non-empty, but the newer one was flushed whole.
      // Records without a readable generation count as one unreadable range.
      const isMixed = (newer.isNameless || older.isNameless) && newer.records.length > 0 && older.records.length > 0
      if (isMixed) {
        const [known, nameless] = newer.isNameless ? [older, newer] : [newer, older]
        return {records: [...known.records, ...nameless.records], unreadable: known.unreadable + nameless.unreadable}
      }
      const lost = newer.generation === 0 && (newer.records.length > 0 || older.records.length > 0)
      if (generation === 0) begin([])
      return {records: newer.records, unreadable: newer.unreadable + (lost ? 1 : 0)}
    },
    async append(record, {flush}) {
      end = write([record], end)
      flushed = false
      if (flush) current.flush()
      flushed = flush
    },
    async replace(records) {
      begin(records)
    },
    async close() {
      if (!flushed) current.flush()
      current.close()
      spare.close()
    },
  }
}

/**
 * Reads the generation. If its record is unreadable, the file is nameless and counts as generation 1: which of the two
 * files is current cannot be decided then, so `load` returns the records of both.
 */
function opened({records, end, unreadable}: Frames): Frames & {generation: number; isNameless: boolean} {
  const [first, ...rest] = records
  const generation = first ? Number(decoder.decode(first)) : 0
  if (Number.isSafeInteger(generation)) return {records: rest, end, unreadable, generation, isNameless: false}
  return {records, end, unreadable: unreadable + 1, generation: 1, isNameless: true}
}
