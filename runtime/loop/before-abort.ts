/** The outcome of `work`, or the signal's reason as soon as it aborts: nothing that ignores its signal can hold us. [CUS-5] */
export function beforeAbort<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    const settle =
      <V>(done: (value: V) => void) =>
      (value: V) => {
        signal.removeEventListener('abort', stop)
        done(value)
      }
    work.then(settle(resolve), settle(reject))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop)
  })
}
