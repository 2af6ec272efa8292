/**
 * The outcome of starting a PGlite in a worker. When its WebAssembly does not compile, or an asset has the wrong size,
 * PGlite leaves a rejection to nobody and never settles: it is taken up here.
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
