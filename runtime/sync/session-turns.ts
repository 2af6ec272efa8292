import type {Environment} from '../protocol/environment.ts'
import {HoldfastError, isOutOfReach} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {EventVerdict} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {retryPauseMs} from './back-off.ts'
import {sendLeftBlobs} from './blob-sync.ts'
import {LinePace} from './line-pace.ts'
import {isServerBehind, requireKnownHead, serverBehind} from './server-behind.ts'
import type {ServerLink} from './server-link.ts'
import {pullPage, syncSession} from './session-sync.ts'

/** Callbacks about sessions. */
export type TurnEvents = {
  /** Blobs that the server had no room for were stored. */
  onBlobsSent?(session: SessionId): void
  /** The server permanently refuses this session; null once it accepts it again. */
  onRefused(session: SessionId, error: HoldfastError | null): void
  /** A session fails repeatedly although the server responds. It is retried; null once it succeeds. */
  onStalled(session: SessionId, error: HoldfastError | null): void
  /** The server has refused pushed events. They stay here with the reasons. */
  onRejected?(log: SessionLog, verdicts: readonly EventVerdict[]): void
}

type Parts = TurnEvents & {
  link: ServerLink
  store: DeviceStore
  environment: Environment
  openLog(session: SessionId): Promise<SessionLog>
  outOfReach(error: HoldfastError): void
  answered(): void
  /** The server has accepted events and pokes its streams about them. */
  pushed(session: SessionId, head: number): void
  pulled(): void
  erased(session: SessionId, error: HoldfastError): Promise<void>
  /** Requests another turn for this session. */
  again(session: SessionId): void
}

/** Permanent errors: the same request would fail again. All others may be temporary. */
const forGood = ['bad_input', 'forbidden', 'not_found', 'too_large', 'refused', 'unreadable_event'] as const

/** Milliseconds until blobs that the server had no room for are sent again. Each try sends all bytes. */
const leftBlobsMs = 600_000

/** One turn of a session: pushes what is pending and pulls one page. Failures are retried with back-off. */
export class SessionTurns {
  /**
   * Refused sessions, with the number of the connection on which they were refused. They are retried on a later
   * connection.
   */
  readonly #refused = new Map<SessionId, number>()
  #connection = 0
  /** The connection on which the server was last seen to have what is confirmed here. */
  readonly #known = new Map<SessionId, number>()
  readonly #failures = new Map<SessionId, number>()
  /** Heads that the server reported in turns that failed. It does not report them again. [SYNC-3] */
  readonly #heads = new Map<SessionId, number>()
  readonly #stalled = new Map<SessionId, number>()
  readonly #retries = new Map<SessionId, ReturnType<typeof setTimeout>>()
  readonly #leftBlobs = new Map<SessionId, ReturnType<typeof setTimeout> | null>()
  readonly #pace = new LinePace()
  #closed = false

  constructor(private readonly parts: Parts) {}

  isRefused(session: SessionId): boolean {
    return this.#refused.has(session)
  }

  /** False for a session that was refused on this connection: the same request would be refused again. [SYNC-6] */
  mayTry(session: SessionId): boolean {
    return (this.#refused.get(session) ?? -1) < this.#connection
  }

  /**
   * The stream has ended, or the person has disconnected or reconnected: refused sessions may be retried on the next
   * connection.
   */
  disconnected(): void {
    this.#connection += 1
  }

  /** The session has failed and waits for its retry. */
  isWaiting(session: SessionId): boolean {
    return this.#retries.has(session)
  }

  /** Cancels all pauses, after a new stream or on request. Returns the sessions that waited. */
  forget(): SessionId[] {
    const waiting = [...this.#retries.keys()]
    for (const timer of this.#retries.values()) clearTimeout(timer)
    this.#retries.clear()
    this.#failures.clear()
    return waiting
  }

  close(): void {
    this.#closed = true
    this.forget()
    for (const timer of this.#leftBlobs.values()) clearTimeout(timer ?? undefined)
  }

  /** Never throws. */
  async take(session: SessionId, named: number): Promise<'level' | 'more'> {
    const connection = this.#connection
    const head = Math.max(named, this.#heads.get(session) ?? 0)
    this.#heads.set(session, head)
    try {
      const log = await this.parts.openLog(session)
      // The turn may have been queued before the refusal, and a head only says that there is something to pull.
      if (!this.mayTry(session)) return await this.#pullRefused(log, head)
      const more = await this.#level(log, head)
      this.parts.answered()
      if (!more) this.#heads.delete(session)
      this.#went(session)
      return more ? 'more' : 'level'
    } catch (error) {
      await this.#failed(session, HoldfastError.from(error), connection)
      return 'level'
    }
  }

  /** Returns true when the server has more than this turn pulled. */
  async #level(log: SessionLog, head: number): Promise<boolean> {
    const {link, store, onRejected, pushed} = this.parts
    const before = log.head
    // A session that exists only here cannot be pulled; the pull would fail and nothing would be pushed.
    if (log.head < head && !isOnlyHere(log)) await pullPage(link, log, this.#pace)
    await this.#requireSameRecord(log)
    await syncSession(link, store, log, {
      pace: this.#pace,
      onRejected: verdicts => onRejected?.(log, verdicts),
      onPushed: head => pushed(log.id, head),
      onNoRoom: () => this.#offerLeftLater(log.id),
    })
    await this.#sendLeft(log.id)
    if (log.head > before) this.parts.pulled()
    // A server that reports a head but sends nothing must not cause a loop.
    return log.head < head && log.head > before
  }

  /** Once a connection, and only when something is to be sent: the server may have been restored meanwhile. */
  async #requireSameRecord(log: SessionLog): Promise<void> {
    const {link, store} = this.parts
    if (log.head === 0 || this.#known.get(log.id) === this.#connection) return
    if ((await store.pendingIds(log.id, 1)).length === 0) return
    const connection = this.#connection
    await requireKnownHead(link, store, log)
    this.#known.set(log.id, connection)
  }

  async #pullRefused(log: SessionLog, head: number): Promise<'level' | 'more'> {
    const before = log.head
    if (before >= head) return 'level'
    await pullPage(this.parts.link, log, this.#pace)
    if (log.head > before) this.parts.pulled()
    // The server had accepted the events after all.
    if ((await this.parts.store.pending(log.id, 1)).length === 0) this.#went(log.id)
    return log.head < head && log.head > before ? 'more' : 'level'
  }

  /** Nothing is sent of this session until there is a new connection. */
  refuse(session: SessionId, error: HoldfastError, connection = this.#connection): void {
    this.#refused.set(session, connection)
    this.#cancelRetry(session)
    this.parts.onRefused(session, error)
  }

  #went(session: SessionId): void {
    this.#failures.delete(session)
    this.#cancelRetry(session)
    if (this.#refused.delete(session)) this.parts.onRefused(session, null)
    if (this.#stalled.delete(session)) this.parts.onStalled(session, null)
  }

  #cancelRetry(session: SessionId): void {
    clearTimeout(this.#retries.get(session))
    this.#retries.delete(session)
  }

  async #failed(session: SessionId, error: HoldfastError, connection: number): Promise<void> {
    if (this.#closed) return
    if (isServerBehind(error) || HoldfastError.is(error, ...forGood)) {
      const log = await this.parts.openLog(session)
      return this.refuse(session, error.code === 'not_found' && log.head > 0 ? serverBehind(error) : error, connection)
    }
    if (HoldfastError.is(error, 'erased') && (await succeeds(this.parts.erased(session, error)))) return
    const outOfReach = isOutOfReach(error)
    if (outOfReach) this.parts.outOfReach(error)
    else this.#stall(session, error)
    const failures = (this.#failures.get(session) ?? 0) + 1
    this.#failures.set(session, failures)
    this.#retryLater(session, retryPauseMs(error, failures, this.parts.environment.random()))
  }

  /** One failure may be temporary. From the second on, the reason is shown on the session. */
  #stall(session: SessionId, error: HoldfastError): void {
    const failures = (this.#stalled.get(session) ?? 0) + 1
    this.#stalled.set(session, failures)
    if (failures > 1) this.parts.onStalled(session, error)
  }

  /** One retry at a time for each session, however often it fails. [SYNC-6] */
  #retryLater(session: SessionId, pauseMs: number): void {
    if (this.#closed || this.#retries.has(session)) return
    const timer = setTimeout(() => {
      this.#retries.delete(session)
      this.parts.again(session)
    }, pauseMs)
    this.#retries.set(session, timer)
  }

  async #sendLeft(session: SessionId): Promise<void> {
    if (this.#leftBlobs.has(session)) return
    // Blocks other turns until it is known what is left.
    this.#leftBlobs.set(session, null)
    try {
      const {sent, left} = await sendLeftBlobs(this.parts.link, this.parts.store, session)
      if (sent > 0) this.parts.onBlobsSent?.(session)
      if (left > 0) this.#offerLeftLater(session)
    } catch (error) {
      this.#leftBlobs.delete(session)
      throw error
    }
  }

  #offerLeftLater(session: SessionId): void {
    if (this.#closed) return
    clearTimeout(this.#leftBlobs.get(session) ?? undefined)
    const timer = setTimeout(() => {
      this.#leftBlobs.delete(session)
      this.parts.again(session)
    }, leftBlobsMs)
    this.#leftBlobs.set(session, timer)
  }
}

function succeeds(work: Promise<void>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

/** Whether the session was opened here and is not confirmed yet. */
function isOnlyHere({state, record}: SessionLog): boolean {
  return state.session !== null && record.confirmed.session === null
}
