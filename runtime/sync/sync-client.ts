import type {Environment} from '../protocol/environment.ts'
import type {PurgeOrder, RedactionOrder} from '../protocol/erasure.ts'
import type {HoldfastError} from '../protocol/errors.ts'
import {type DeviceId, erasureIdSchema, type SessionId} from '../protocol/ids.ts'
import type {Connection} from '../protocol/session-view.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import {ConnectionLoop} from './connection-loop.ts'
import type {CuttableLink} from './http-link.ts'
import {Identity, type IdentityParts} from './identify.ts'
import {PokeCheck} from './poke-check.ts'
import {serverBehind} from './server-behind.ts'
import {SessionQueue} from './session-queue.ts'
import {SessionTurns, type TurnEvents} from './session-turns.ts'

export type SyncParts = TurnEvents &
  Omit<IdentityParts, 'link'> & {
    link: CuttableLink
    store: DeviceStore
    environment: Environment
    device: DeviceId
    openLog(session: SessionId): Promise<SessionLog>
    onConnection(connection: Connection): void
    onFactChanged(key: string): void
    /** The registry of agents has changed. */
    onAgentsChanged(): void
    onMemoryChanged?(): void
    /** A stream starts, or a poll is due without one: data outside of sessions may have changed. */
    onMissed(): void
    /** Deletes the ordered data. Resolves when nothing of it is left on this device. */
    purge(orders: readonly (PurgeOrder | RedactionOrder)[]): Promise<void>
  }

/** Milliseconds after which a missing poke about an own push means that the stream is buffered. */
const latePokeMs = 10_000

/**
 * Keeps a device in sync with the server. Local events are pushed at once; missing ones are pulled when a poke, a
 * response or a poll reports them. The records alone determine what is missing, so a lost poke, a lost response or a
 * restart on either side only costs time. [SYNC-3, SYNC-8]
 */
export class SyncClient {
  readonly #loop: ConnectionLoop
  readonly #turns: SessionTurns
  readonly #queue: SessionQueue
  readonly #pokes = new PokeCheck(latePokeMs, () => this.#loop.signal({type: 'held'}))
  readonly #active = new Set<Promise<void>>()
  readonly #identity: Identity

  constructor(private readonly parts: SyncParts) {
    const {link, environment, onConnection} = parts
    const loop = new ConnectionLoop({
      link,
      environment,
      onConnection,
      round: why => this.#catchUp(why),
      beforeStream: () => this.#identity.ask(),
      onMessage: message => this.#take(message),
      onStreamGone: () => {
        this.#pokes.clear()
        this.#turns.disconnected()
      },
    })
    this.#loop = loop
    this.#identity = new Identity(parts, () => {
      loop.hangUp()
      loop.ask()
    })
    this.#turns = new SessionTurns({
      ...parts,
      outOfReach: error => loop.unanswered(error),
      answered: () => loop.answered(),
      pushed: (session, head) => loop.state.stream === 'live' && this.#pokes.expect(session, head),
      pulled: () => loop.expectNews(),
      erased: (session, error) => this.#purgeErased(session, error),
      // While the server is unreachable, one round polls for all sessions and then queues them again.
      again: session => loop.state.asked !== 'failed' && this.#push(session),
    })
    this.#queue = new SessionQueue(async (session, head) => {
      await this.#identity.knowFirst()
      return await this.#turns.take(session, head)
    })
  }

  get connection(): Connection {
    return this.#loop.connection
  }

  /** `online: false` starts disconnected, as the user left it. */
  start(online: boolean): void {
    this.#identity.forget()
    if (online) this.parts.link.setOnline(true)
    else this.#loop.setOnline(false)
    this.#loop.start()
    if (online) this.#pushAll()
  }

  async close(): Promise<void> {
    this.#turns.close()
    this.#pokes.clear()
    await this.#loop.close()
    await this.#queue.close()
    await Promise.all(this.#active)
  }

  /** Idempotent. */
  setOnline(online: boolean): void {
    if (!this.#loop.setOnline(online)) return
    this.#turns.forget()
    if (online) this.#pushAll()
  }

  /** A new token, or the network is back: ends the pause. */
  hurry(): void {
    const {cut, stream} = this.#loop.state
    if (cut) return
    for (const session of this.#turns.forget()) this.#push(session)
    if (stream !== 'live') this.#loop.hurry()
  }

  /** A person waits in front of a visible page: tries every few seconds while the server is unreachable. */
  attend(): void {
    const {cut, stream, asked} = this.#loop.state
    if (!cut && stream !== 'live' && asked !== 'answered' && this.#loop.nudge()) this.parts.link.retryToken()
  }

  /** Events were appended on this device: pushes them at once, or in the next round while the server is unreachable. */
  touch(session: SessionId): void {
    this.#loop.expectNews()
    const {cut, asked} = this.#loop.state
    if (cut || this.#turns.isRefused(session) || this.#turns.isWaiting(session)) return
    if (asked === 'failed') this.#loop.nudge()
    else this.#push(session)
  }

  /** A person has opened this session, so it goes before all others. */
  open(session: SessionId): void {
    this.#queue.open(session)
  }

  #push(session: SessionId): void {
    if (!this.#loop.state.cut) this.#queue.add(session, {push: true})
  }

  #take(message: LiveMessage): void {
    switch (message.type) {
      case 'hello':
        this.#turns.forget()
        return
      case 'head':
        this.#pokes.heard(message.session, message.head)
        this.#queue.add(message.session, {push: true, head: message.head})
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
        this.#loop.ask()
        return
      case 'expired':
      case 'inbox':
        return
    }
  }

  /** Exchanges everything that either side may have missed. */
  async #catchUp(why: 'hello' | 'poll'): Promise<void> {
    const {link, device, openLog} = this.parts
    await this.#identity.know()
    // Copies of server data may be refreshed later; nothing here waits for them.
    this.parts.onMissed()
    // Read before the question: what is confirmed while it is under way says nothing about the answer.
    const confirmed = new Map((await this.parts.store.sessions()).map(one => [one.id, one.confirmed.head]))
    const {sessions, erased, redactions = []} = await link.sessions(device)
    // Purges first, so that erased data is neither sent nor used.
    if (erased.length + redactions.length > 0) await this.#purge([...erased, ...redactions])
    this.#loop.answered()
    for (const {id, head} of sessions) {
      if ((confirmed.get(id) ?? 0) > head) this.#turns.refuse(id, serverBehind())
      else if ((await openLog(id)).head < head) this.#queue.add(id, {head})
    }
    await this.#pushEach(why === 'hello')
  }

  #pushAll(): void {
    const work = this.#pushEach(true).catch(() => undefined)
    this.#active.add(work)
    void work.finally(() => this.#active.delete(work))
  }

  /** On a new connection, sessions that were refused on an earlier one are tried once more. */
  async #pushEach(refused: boolean): Promise<void> {
    for (const {id} of await this.parts.store.sessions()) {
      if (this.#turns.isWaiting(id)) continue
      if (refused ? this.#turns.mayTry(id) : !this.#turns.isRefused(id)) this.#push(id)
    }
  }

  async #purge(orders: readonly (PurgeOrder | RedactionOrder)[]): Promise<void> {
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
    if (!erasure.success) return this.#loop.ask()
    const at = this.parts.environment.now()
    await this.#purge([{erasure: erasure.data, whole: false, sessions: [session], at, why: 'requested'}])
  }
}
