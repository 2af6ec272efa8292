import type {Observable} from '../platform/observable.ts'

/** A value that changes. */
export interface Source<T> {
  get(): T
  /** Calls `listener` with the current value and after every change. Returns an unsubscribe function. */
  subscribe(listener: (value: T) => void): () => void
}

export function sourceOf<T>({get, listen}: Pick<Observable<T>, 'get' | 'listen'>): Source<T> {
  return {
    get,
    subscribe(listener) {
      listener(get())
      return listen(listener)
    },
  }
}
