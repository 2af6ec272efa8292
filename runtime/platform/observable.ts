import {tellListeners} from '../protocol/tell-listeners.ts'

/** A value that calls its listeners when it changes. */
export interface Observable<T> {
  get(): T
  set(value: T): void
  /** Returns an unsubscribe function. */
  listen(listener: (value: T) => void): () => void
}

export function createObservable<T>(initial: T): Observable<T> {
  const listeners = new Set<(value: T) => void>()
  let value = initial
  return {
    get: () => value,
    set(next) {
      if (next === value) return
      value = next
      tellListeners(listeners, value)
    },
    listen(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}
