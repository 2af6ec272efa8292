/**
 * Makes a worker, and tells where its script is. A worker whose script cannot be loaded says nothing at all, not even the
 * address: only the constructor is given it, so it is watched while `make` runs.
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
