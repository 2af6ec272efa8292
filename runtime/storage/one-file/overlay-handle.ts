import {chunkBytes} from './extents.ts'
import {type Handle, readInto} from './handle.ts'

/** Wraps a handle copy-on-write: writes stay in memory, and `base` is never modified. */
export function overlayHandle(base: Handle): Handle {
  const changed = new Map<number, Uint8Array>()
  let size = base.getSize()
  let cutAt = size

  function chunk(number: number): Uint8Array {
    const known = changed.get(number)
    if (known) return known
    const bytes = new Uint8Array(chunkBytes)
    const at = number * chunkBytes
    if (at < cutAt) readInto(base, bytes.subarray(0, Math.min(chunkBytes, cutAt - at)), at)
    return bytes
  }

  function* pieces(at: number, length: number) {
    for (let done = 0; done < length; ) {
      const [number, inside] = [Math.floor((at + done) / chunkBytes), (at + done) % chunkBytes]
      const count = Math.min(chunkBytes - inside, length - done)
      yield {number, inside, from: done, count}
      done += count
    }
  }

  return {
    getSize: () => size,
    read(into, {at}) {
      const length = Math.max(0, Math.min(into.length, size - at))
      for (const {number, inside, from, count} of pieces(at, length)) {
        into.set(chunk(number).subarray(inside, inside + count), from)
      }
      return length
    },
    write(bytes, {at}) {
      for (const {number, inside, from, count} of pieces(at, bytes.length)) {
        const whole = chunk(number)
        whole.set(bytes.subarray(from, from + count), inside)
        changed.set(number, whole)
      }
      size = Math.max(size, at + bytes.length)
      return bytes.length
    },
    truncate(to) {
      if (to < size) {
        const last = Math.floor(to / chunkBytes)
        const kept = chunk(last)
        kept.fill(0, to % chunkBytes)
        for (const number of changed.keys()) if (number > last) changed.delete(number)
        changed.set(last, kept)
        cutAt = Math.min(cutAt, to)
      }
      size = to
    },
    flush() {},
    close: () => base.close(),
  }
}
