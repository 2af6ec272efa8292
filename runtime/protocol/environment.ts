import type {GeneratedIds} from './ids.ts'

/** Everything impure that the runtime and the server need besides storage and network; tests pass a scripted one. */
export interface Environment {
  /** Milliseconds since 1970. Shown and stored, never used to order anything. [LOG-2] */
  now(): number
  /** Milliseconds on a monotonic clock with an arbitrary start. Measures work. [BUD-3] */
  elapsed(): number
  /** A fresh id; never the same twice, on any device. */
  id<Name extends keyof GeneratedIds>(name: Name): GeneratedIds[Name]
  /** Milliseconds that nobody can set, from any start; tells a jump of `now` from time that has passed. */
  monotonic?(): number
  /** Uniform in [0, 1): jitter only. */
  random(): number
}
