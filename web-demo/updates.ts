import {NewerWorker} from './newer-worker.ts'

/** Whether the server has a newer version of this page than the one that runs. */
export type Updates = {
  subscribe(listener: (isNewer: boolean) => void): () => void
  /** Loads the newer version: this page is reloaded. */
  apply(): void
}

const listeners = new Set<(isNewer: boolean) => void>()
let registration: ServiceWorkerRegistration | null = null
let newer: NewerWorker | null = null

/** Milliseconds between two checks for a newer version; the browser itself checks only when a page is loaded. */
const checkEveryMs = 60_000

export function watchForUpdates(registered: ServiceWorkerRegistration): void {
  registration = registered
  newer = new NewerWorker(registered, navigator.serviceWorker.controller, tell)
  tell()
  setInterval(check, checkEveryMs)
  document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && check())
  // Another tab may have activated the newer worker.
  navigator.serviceWorker.addEventListener('controllerchange', () => newer?.look())
}

function check(): void {
  newer?.look()
  // Without a connection the check fails, and a later one may succeed.
  void registration
    ?.update()
    .then(() => newer?.look())
    .catch(() => undefined)
}

function tell(): void {
  for (const listener of listeners) listener(newer?.found ?? false)
}

export const updates: Updates = {
  subscribe(listener) {
    listeners.add(listener)
    listener(newer?.found ?? false)
    return () => listeners.delete(listener)
  },
  apply() {
    const waiting = registration?.waiting
    if (!waiting) return location.reload()
    // The worker's own state is watched, because a page without a controller is not told of a change of controller.
    waiting.addEventListener('statechange', () => waiting.state !== 'installed' && location.reload(), {once: true})
    waiting.postMessage({type: 'SKIP_WAITING'})
  },
}
