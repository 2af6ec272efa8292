/** Whether the server has a newer version of this page than the one that runs. */
export type Updates = {
  subscribe(listener: (waiting: boolean) => void): () => void
  /** Brings the newer version: this page is loaded anew. */
  apply(): void
}

const listeners = new Set<(waiting: boolean) => void>()
let registration: ServiceWorkerRegistration | null = null

/** Looks for a newer version this often, in milliseconds; the browser itself looks only when a page is loaded. */
const lookEveryMs = 60_000

export function watchForUpdates(registered: ServiceWorkerRegistration): void {
  registration = registered
  registered.addEventListener('updatefound', () => {
    registered.installing?.addEventListener('statechange', tell)
  })
  tell()
  setInterval(look, lookEveryMs)
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && look())
}

function look(): void {
  // Offline there is nothing to look at; the next time there may be.
  void registration?.update().catch(() => undefined)
}

function isWaiting(): boolean {
  return Boolean(registration?.waiting && navigator.serviceWorker.controller)
}

function tell(): void {
  for (const listener of listeners) listener(isWaiting())
}

export const updates: Updates = {
  subscribe(listener) {
    listeners.add(listener)
    listener(isWaiting())
    return () => listeners.delete(listener)
  },
  apply() {
    const waiting = registration?.waiting
    if (!waiting) return location.reload()
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), {once: true})
    waiting.postMessage({type: 'SKIP_WAITING'})
  },
}
