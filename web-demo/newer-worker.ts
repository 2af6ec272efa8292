/** The parts of `ServiceWorkerRegistration` that tell whether a newer build of the page was installed. */
export type Registered = Pick<ServiceWorkerRegistration, 'active' | 'waiting' | 'installing'> &
  Pick<EventTarget, 'addEventListener'>

/**
 * Watches for a service worker that is newer than this page. Once there is one it stays so until the page is loaded
 * again, also when another tab has activated it meanwhile. A page that no worker controls, as at the first visit, belongs
 * to the worker that it has registered.
 */
export class NewerWorker {
  readonly #registered: Registered
  readonly #own: ServiceWorker | null
  readonly #followed = new Set<ServiceWorker>()
  readonly #changed: () => void
  #found = false

  constructor(registered: Registered, controller: ServiceWorker | null, changed: () => void) {
    this.#registered = registered
    this.#own = controller ?? registered.active ?? registered.waiting ?? registered.installing
    this.#changed = changed
    registered.addEventListener('updatefound', () => this.look())
    this.look()
  }

  get found(): boolean {
    return this.#found
  }

  /** A worker can have begun to install, or have been installed, before anything listened to it. */
  look(): void {
    for (const worker of [this.#registered.installing, this.#registered.waiting, this.#registered.active]) {
      if (worker) this.#follow(worker)
    }
  }

  #follow(worker: ServiceWorker): void {
    if (worker === this.#own) return
    this.#note(worker)
    if (this.#followed.has(worker)) return
    this.#followed.add(worker)
    worker.addEventListener('statechange', () => this.#note(worker))
  }

  #note({state}: ServiceWorker): void {
    if (this.#found || !['installed', 'activating', 'activated'].includes(state)) return
    this.#found = true
    this.#changed()
  }
}
