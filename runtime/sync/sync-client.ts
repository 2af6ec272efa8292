import type {Environment} from '../protocol/environment.ts'
import type {PurgeOrder} from '../protocol/erasure.ts'
import {HoldfastError, isOutOfReach} from '../protocol/errors.ts'
import {type DeviceId, erasureIdSchema, type SessionId} from '../protocol/ids.ts'
import type {EventVerdict, LiveMessage} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {sendLeftBlobs} from './blob-sync.ts'
import type {CuttableLink} from './http-link.ts'
import {pullSession, syncSession} from './session-sync.ts'
import {backoffMs, initialSync, onSignal, type SyncSignal, type SyncState} from './sync-state.ts'

export type SyncParts = {
  link: CuttableLink
  store: DeviceStore
  environment: Environment
  device: DeviceId
  openLog(session: SessionId): Promise<SessionLog>
  onState(state: SyncState): void
  onFactChanged(key: string): void
  /** On every connect and whenever the registry of agents moved. */
  onAgentsChanged(): void
  onMemoryChanged?(): void
  /** Blobs that the server had no room for are there now. */
  onBlobsSent?(session: SessionId): void
  /** Resolves when nothing of it is left on this device. */
  purge(orders: readonly PurgeOrder[]): Promise<void>
  /** The server takes nothing of this session, for good, and why; null once it takes something again. */
  onRefused(session: SessionId, error: HoldfastError | null): void
  /** A session fails again and again although the server is there; it is tried again, and null says that it went. */
  onStalled(session: SessionId, error: HoldfastError | null): void
  /** The server has refused some of what was pushed; it is kept here with its reasons. */
  onRejected?(log: SessionLog, verdicts: readonly EventVerdict[]): void
}

/** Codes that the same request would get again; everything else may pass. */
const forGood = ['bad_input', 'forbidden', 'not_found', 'too_large', 'refused', 'unreadable_event'] as const

/**
 * Keeps a device level with the server over one live connection. A poke only says where to look; the records say
 * what is missing, so a lost poke, a lost answer or a restart on either side costs time and nothing else. [SYNC-3]
 */
export class SyncClient {
  #state: SyncState = initialSync
  #stop = new AbortController()
  #running: Promise<void> | null = null
  #wakeUp: (() => void) | null = null
  readonly #busy = new Map<SessionId, {again: boolean; pull: boolean}>()
  /** Sessions that are not tried again by themselves until the server speaks of them or the connection is new. */
  readonly #refused = new Set<SessionId>()
  /** Failures in a row of a session that the server could have answered for. */
  readonly #stalled = new Map<SessionId, number>()
  /** Sessions whose left blobs this process has tried to send: once, since each try carries the bytes. */
  readonly #triedLeft = new Set<SessionId>()
  readonly #active = new Set<Promise<void>>()
  /** One retry at a time for each session and for the catch-up, however often it is asked for. [SYNC-6] */
  readonly #retries = new Map<SessionId | 'catch-up', ReturnType<typeof setTimeout>>()
  /** Failed calls in a row while the live connection itself is fine. */
  #failedCalls = 0

  constructor(private readonly parts: SyncParts) {}

  get state(): SyncState {
    return this.#state
  }

  /** `online: false` starts cut, as its user left it. */
  start(online: boolean): void {
    if (!online) this.setOnline(false)
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.#forgetRetries()
    this.parts.link.setOnline(false)
    this.#wakeUp?.()
    await this.#running
    await Promise.all(this.#active)
  }

  setOnline(online: boolean): void {
    this.parts.link.setOnline(online)
    this.#signal({type: online ? 'joined' : 'cut'})
    this.#wakeUp?.()
  }

  /** A new token, or the network is back: try now instead of at the end of the pause. */
  hurry(): void {
    if (this.#state.state !== 'live') this.#wakeUp?.()
  }

  /** Something was appended on this device: push it as soon as the server can be reached. */
  touch(session: SessionId): void {
    if (this.#state.state !== 'live' || this.#retries.has(session) || this.#refused.has(session)) return
    this.#sync(session, false)
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (this.#state.state !== 'cut') await this.#connection()
      if (this.#stop.signal.aborted) return
      await this.#pause(
        this.#state.state === 'cut' ? null : backoffMs(this.#state.failures, this.parts.environment.random()),
      )
    }
  }

  /** One live connection, from opening to its end. */
  async #connection(): Promise<void> {
    try {
      await this.parts.link.live(message => this.#take(message), this.#stop.signal)
      this.#signal({type: 'ended'})
    } catch (error) {
      this.#signal({type: 'failed', error: HoldfastError.from(error, 'offline')})
    }
  }

  #take(message: LiveMessage): void {
    switch (message.type) {
      case 'hello':
        this.#signal({type: 'connected'})
        this.parts.onAgentsChanged()
        this.#track(this.#catchUp())
        return
      case 'head':
        this.#sync(message.session, true)
        return
      case 'agents':
        this.parts.onAgentsChanged()
        return
      case 'fact':
        this.parts.onFactChanged(message.key)
        return
      case 'memory':
        this.parts.onMemoryChanged?.()
        return
      case 'erased':
        this.#track(this.#catchUp())
        return
      case 'expired':
      case 'inbox':
        return
    }
  }

  /** After every (re)connect: everything that either side may have missed. */
  async #catchUp(): Promise<void> {
    try {
      const {sessions, erased} = await this.parts.link.sessions(this.parts.device)
      // First what must go, so that nothing of it is sent or built upon.
      if (erased.length > 0) await this.#purge(erased)
      for (const {id, head} of sessions) {
        if ((await this.parts.openLog(id)).head < head) this.#sync(id, true)
      }
      for (const {id} of await this.parts.store.sessions()) this.#sync(id, false)
    } catch {
      this.#retryLater('catch-up', () => this.#track(this.#catchUp()))
    }
  }

  async #purge(orders: readonly PurgeOrder[]): Promise<void> {
    const {link, device, purge} = this.parts
    await purge(orders)
    await link.purged(
      device,
      orders.map(({erasure}) => erasure),
    )
  }

  /**
   * The server says that the session was erased; a device that had purged it before, and was put back from a copy since,
   * is not told again by the list. Without an erasure named it is all that this device brings: then the list says more.
   */
  async #purgeErased(session: SessionId, error: HoldfastError): Promise<void> {
    const erasure = erasureIdSchema.safeParse(error.details.erasure)
    if (!erasure.success) return this.#catchUp()
    const at = this.parts.environment.now()
    await this.#purge([{erasure: erasure.data, whole: false, sessions: [session], at, why: 'requested'}])
  }

  #sync(session: SessionId, pull: boolean): void {
    const busy = this.#busy.get(session)
    if (busy) {
      busy.again = true
      busy.pull ||= pull
      return
    }
    this.#busy.set(session, {again: false, pull})
    this.#track(this.#syncUntilLevel(session))
  }

  async #syncUntilLevel(session: SessionId): Promise<void> {
    const job = this.#busy.get(session)
    if (!job) return
    try {
      const log = await this.parts.openLog(session)
      do {
        const {pull} = job
        Object.assign(job, {again: false, pull: false})
        if (pull && !isOnlyHere(log)) await pullSession(this.parts.link, log)
        await syncSession(this.parts.link, this.parts.store, log, verdicts => this.parts.onRejected?.(log, verdicts))
        await this.#sendLeft(session)
      } while (job.again)
      this.#busy.delete(session)
      this.#failedCalls = 0
      if (this.#refused.delete(session)) this.parts.onRefused(session, null)
      if (this.#stalled.delete(session)) this.parts.onStalled(session, null)
    } catch (caught) {
      this.#busy.delete(session)
      const error = HoldfastError.from(caught)
      if (HoldfastError.is(error, ...forGood)) {
        this.#refused.add(session)
        this.parts.onRefused(session, error)
        return
      }
      const gone = HoldfastError.is(error, 'erased') && (await succeeds(this.#purgeErased(session, error)))
      if (gone) return
      this.#stall(session, error)
      this.#retryLater(session, () => this.#sync(session, true))
    }
  }

  /** Once may be the moment's; from the second time on whoever looks at the session should know why it does not go on. */
  #stall(session: SessionId, error: HoldfastError): void {
    if (isOutOfReach(error) || this.#stop.signal.aborted) return
    const failures = (this.#stalled.get(session) ?? 0) + 1
    this.#stalled.set(session, failures)
    if (failures > 1) this.parts.onStalled(session, error)
  }

  async #sendLeft(session: SessionId): Promise<void> {
    if (this.#triedLeft.has(session)) return
    const sent = await sendLeftBlobs(this.parts.link, this.parts.store, session)
    this.#triedLeft.add(session)
    if (sent > 0) this.parts.onBlobsSent?.(session)
  }

  /** With the connection gone, the next `hello` catches up by itself; with it alive, this one call is tried again. [SYNC-6] */
  #retryLater(what: SessionId | 'catch-up', again: () => void): void {
    if (this.#stop.signal.aborted || this.#state.state !== 'live' || this.#retries.has(what)) return
    this.#failedCalls += 1
    const wait = backoffMs(this.#failedCalls, this.parts.environment.random())
    const timer = setTimeout(() => {
      this.#retries.delete(what)
      if (this.#state.state === 'live') again()
    }, wait)
    this.#retries.set(what, timer)
  }

  #forgetRetries(): void {
    for (const timer of this.#retries.values()) clearTimeout(timer)
    this.#retries.clear()
  }

  #signal(signal: SyncSignal): void {
    this.#state = onSignal(this.#state, signal)
    if (signal.type === 'connected') {
      this.#failedCalls = 0
      this.#forgetRetries()
    }
    this.parts.onState(this.#state)
  }

  #track(work: Promise<void>): void {
    this.#active.add(work)
    work.finally(() => this.#active.delete(work))
  }

  #pause(ms: number | null): Promise<void> {
    return new Promise(resolve => {
      const timer = ms === null ? undefined : setTimeout(done, ms)
      function done() {
        clearTimeout(timer)
        resolve()
      }
      this.#wakeUp = done
    })
  }
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Opened here and not confirmed yet: to pull what the server does not know would fail again and again, and never push. */
function isOnlyHere({state, record}: SessionLog): boolean {
  return state.session !== null && record.confirmed.session === null
}
