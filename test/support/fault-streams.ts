import {type Duplex, Transform} from 'node:stream'
import {constants, createGzip} from 'node:zlib'

/** Lets the first bytes pass and holds everything after them until the end. */
export function buffered(passing = 0): Duplex {
  const held: Buffer[] = []
  let passed = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const now = chunk.subarray(0, Math.max(0, passing - passed))
      passed += now.length
      if (now.length > 0) this.push(now)
      if (now.length < chunk.length) held.push(chunk.subarray(now.length))
      done()
    },
    flush(done) {
      this.push(Buffer.concat(held))
      done()
    },
  })
}

/** Delays each piece; pieces that come meanwhile keep their distance. */
export function heldBack(ms: number): Duplex {
  const timers = new Set<ReturnType<typeof setTimeout>>()
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const timer = setTimeout(() => {
        timers.delete(timer)
        this.push(chunk)
      }, ms)
      timers.add(timer)
      done()
    },
    flush(done) {
      setTimeout(done, ms)
    },
    destroy(error, done) {
      for (const timer of timers) clearTimeout(timer)
      done(error)
    },
  })
}

const sliceMs = 20

export function throttled(bytesPerSecond: number): Duplex {
  const size = Math.max(1, Math.floor((bytesPerSecond * sliceMs) / 1000))
  let timer: ReturnType<typeof setTimeout> | undefined
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const slice = (from: number) => {
        if (from >= chunk.length) return done()
        this.push(chunk.subarray(from, from + size))
        timer = setTimeout(() => slice(from + size), sliceMs)
      }
      slice(0)
    },
    destroy(error, done) {
      clearTimeout(timer)
      done(error)
    },
  })
}

export function cutAfter(bytes: number): Duplex {
  let passed = 0
  return new Transform({
    transform(chunk: Buffer, _, done) {
      this.push(chunk.subarray(0, Math.max(0, bytes - passed)))
      passed += chunk.length
      if (passed < bytes) return done()
      // What was let pass is sent before the connection breaks.
      setImmediate(() => done(new Error('cut by the fault proxy')))
    },
  })
}

/** Compresses and keeps what it has until the end, as a proxy that does not know of streams. */
export function gzipped(): Duplex {
  return createGzip({flush: constants.Z_NO_FLUSH})
}
