import type {Observable} from '../platform/observable.ts'
import {tellListener} from '../protocol/tell-listeners.ts'
import {listenerOf} from './listener-argument.ts'

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
      tellListener(listener, get())
      return listen(listener)
    },
  }
}

/** Follows the source of the value that `from` holds; `none` while it holds null. Errors call the source `name`. */
export function sourceAcross<From, T>(
  name: string,
  from: Pick<Observable<From | null>, 'get' | 'listen'>,
  pick: (held: From) => Source<T>,
  none: T,
): Source<T> {
  const get = () => {
    const held = from.get()
    return held ? pick(held).get() : none
  }
  return {
    get,
    subscribe(given) {
      const listener = listenerOf(given, name)
      let stop: () => void = () => undefined
      const follow = (held: From | null) => {
        stop()
        stop = () => undefined
        if (held) stop = pick(held).subscribe(listener)
        else tellListener(listener, none)
      }
      const stopFollowing = from.listen(follow)
      follow(from.get())
      return () => {
        stopFollowing()
        stop()
      }
    },
  }
}
