import {systemEnvironment} from '../platform/environment.ts'
import type {Decision, InboxItem} from '../protocol/approval.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {ApprovalId} from '../protocol/ids.ts'
import type {Connection} from '../protocol/session-view.ts'
import {type CuttableLink, httpLink} from '../sync/http-link.ts'
import {backoffMs, initialSync, onSignal, type SyncState} from '../sync/sync-state.ts'

export type InboxState = {items: InboxItem[]; connection: Connection}

/** An approver's inbox: what waits for a decision and what was decided, live from the server. [APP-6] */
export interface Inbox {
  /** Told the state now and on every change; returns how to stop. */
  subscribe(listener: (state: InboxState) => void): () => void
  /**
   * Decides one approval; `digest` is that of what was on the screen. [APP-3]
   *
   * @throws HoldfastError `refused` when it is decided, voided or expired already, `forbidden`, `offline`
   */
  decide(approval: ApprovalId, decision: Decision): Promise<InboxItem>
  close(): void
}

/**
 * Opens the inbox of whoever the token names; needs no database and no worker.
 *
 * @example
 * const inbox = openInbox({url: location.origin, token: async () => token})
 * inbox.subscribe(({items}) => render(items))
 */
export function openInbox(options: {
  url: string
  token: string | (() => Promise<string>)
  environment?: Environment
  link?: CuttableLink
}): Inbox {
  const {url, token, environment = systemEnvironment} = options
  const link = options.link ?? httpLink({url, token: async () => (typeof token === 'string' ? token : token())})
  const live = new LiveInbox(link, environment)
  live.start()
  return {
    subscribe: listener => live.subscribe(listener),
    decide: async (approval, decision) => {
      const item = await link.decide(approval, decision)
      // The decision stands, whether or not the list can be read again now.
      await live.refresh().catch(() => undefined)
      return item
    },
    close: () => live.close(),
  }
}

class LiveInbox {
  #items: InboxItem[] = []
  #sync: SyncState = initialSync
  readonly #stop = new AbortController()
  readonly #listeners = new Set<(state: InboxState) => void>()

  constructor(
    private readonly link: CuttableLink,
    private readonly environment: Environment,
  ) {}

  subscribe(listener: (state: InboxState) => void): () => void {
    this.#listeners.add(listener)
    listener(this.#state)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    void this.#run()
  }

  close(): void {
    this.#stop.abort()
    this.link.setOnline(false)
  }

  async refresh(): Promise<void> {
    this.#items = await this.link.inbox('all')
    this.#tell()
  }

  get #state(): InboxState {
    const {state, detail} = this.#sync
    return {items: this.#items, connection: {state, detail}}
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.link.live(message => {
          if (message.type === 'hello') this.#become(onSignal(this.#sync, {type: 'connected'}))
          if (message.type === 'hello' || message.type === 'inbox') this.#refreshQuietly()
        }, this.#stop.signal)
        this.#become(onSignal(this.#sync, {type: 'ended'}))
      } catch (error) {
        this.#become(onSignal(this.#sync, {type: 'failed', error: HoldfastError.from(error, 'offline')}))
      }
      await this.#pause(backoffMs(this.#sync.failures, this.environment.random()))
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#stop.signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer)
          resolve()
        },
        {once: true},
      )
    })
  }

  /** A failed look is repeated with the next poke or connection. */
  #refreshQuietly(): void {
    this.refresh().catch(() => undefined)
  }

  #become(sync: SyncState): void {
    this.#sync = sync
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener(this.#state)
  }
}
