/**
 * Returns the outcome of `boot`, and rejects on an unhandled rejection in this worker. If its WebAssembly does not
 * compile or an asset has the wrong size, PGlite causes an unhandled rejection and its own promise never settles.
 */
export function orBootFault<T>(boot: Promise<T>): Promise<T> {
  if (!('WorkerGlobalScope' in globalThis)) return boot
  let stop = () => {}
  const fault = new Promise<never>((_resolve, reject) => {
    const take = (event: PromiseRejectionEvent) => {
      event.preventDefault()
      reject(event.reason)
    }
    addEventListener('unhandledrejection', take)
    stop = () => removeEventListener('unhandledrejection', take)
  })
  return Promise.race([boot, fault]).finally(stop)
}
