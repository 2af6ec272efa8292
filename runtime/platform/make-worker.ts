/**
 * Creates a worker and returns the URL of its script. The error event of a script that cannot be loaded does not contain
 * the URL. Therefore the `Worker` constructor is wrapped while `make` runs.
 */
export function makeWorker(make: () => Worker): {worker: Worker; script: string | null} {
  const Native = globalThis.Worker
  let script: string | null = null
  globalThis.Worker = class extends Native {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, options)
      script = new URL(url, document.baseURI).href
    }
  }
  try {
    return {worker: make(), script}
  } finally {
    globalThis.Worker = Native
  }
}
