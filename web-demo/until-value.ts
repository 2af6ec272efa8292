/** Resolves when a source has such a value, or when `stop` is aborted. */
export function untilValue<T>(
  source: {subscribe(listener: (value: T) => void): () => void},
  met: (value: T) => boolean,
  stop: AbortSignal,
): Promise<void> {
  return new Promise(resolve => {
    let unsubscribe = () => {}
    let done = false
    const end = () => {
      if (done) return
      done = true
      // The first value may come before `subscribe` has returned.
      queueMicrotask(() => unsubscribe())
      stop.removeEventListener('abort', end)
      resolve()
    }
    stop.addEventListener('abort', end)
    unsubscribe = source.subscribe(value => {
      if (!done && met(value)) end()
    })
    if (stop.aborted) end()
  })
}
