import type {MortalProcess} from './crash-points.ts'

/** The application's server in a test: the result of `createSyncServer(…)`, or any object with `fetch`. */
export interface TestServer {
  fetch(request: Request): Response | Promise<Response>
  /** Ends its streams. */
  close?(): Promise<void>
}

export type StartServer = (process: MortalProcess) => TestServer | Promise<TestServer>

/**
 * A server that can crash while it handles requests. Such requests fail like a broken connection, except for reads,
 * which are repeated at the next process, as browsers do.
 */
export class ServerProcess {
  #running: Promise<{process: MortalProcess; server: TestServer}>
  #restarted: (next: Promise<{process: MortalProcess; server: TestServer}>) => void = () => undefined

  constructor(
    private readonly start: StartServer,
    process: MortalProcess,
  ) {
    this.#running = this.#started(process)
  }

  readonly fetch: typeof fetch = async (input, init) => {
    for (;;) {
      const {process, server} = await this.#running
      const request = new Request(input, init)
      const response = await beforeDeath(process, async () => server.fetch(request))
      if (response) return response
      if (request.method !== 'GET') throw new TypeError('fetch failed')
    }
  }

  /** Waits for all work of the dead process before the next one starts. */
  async restart(dead: MortalProcess, next: MortalProcess): Promise<void> {
    await this.#close(dead)
    const started = this.#started(next)
    this.#restarted(started)
    await started
  }

  async close(): Promise<void> {
    await (await this.#running).server.close?.()
  }

  #started(process: MortalProcess): Promise<{process: MortalProcess; server: TestServer}> {
    const starting = Promise.resolve(this.start(process)).then(server => {
      this.#close = async dead => {
        await dead.buried()
        await server.close?.().catch(() => undefined)
        await dead.buried()
      }
      return {process, server}
    })
    process.onceDead(() => {
      this.#running = new Promise(resolve => {
        this.#restarted = resolve
      })
    })
    return starting
  }

  #close: (dead: MortalProcess) => Promise<void> = async () => undefined
}

/** Returns null when the process dies first. Its later response is dropped. */
function beforeDeath(process: MortalProcess, work: () => Promise<Response>): Promise<Response | null> {
  return new Promise((resolve, reject) => {
    if (process.dead) return resolve(null)
    const stop = process.onceDead(() => resolve(null))
    work()
      .then(response => resolve(process.dead ? null : response), reject)
      .finally(stop)
  })
}
