import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Connection} from '../protocol/session-view.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import {retryPauseMs} from './back-off.ts'
import type {CuttableLink} from './http-link.ts'
import {Pause} from './pause.ts'
import {connectionOf, initialSync, onSignal, pollPauseMs, type SyncSignal, type SyncState} from './sync-state.ts'

export type LoopParts = {
  link: Pick<CuttableLink, 'live' | 'setOnline'>
  environment: Environment
  /** Asks for everything that may have been missed; `hello` at the start of a stream, `poll` without one. Throws to be repeated. */
  round(why: 'hello' | 'poll'): Promise<void>
  /** Called before each stream, which does not begin when it throws. */
  beforeStream?(): Promise<void>
  /** Every message of the stream, after `hello` has been taken here. */
  onMessage(message: LiveMessage): void
  onConnection(connection: Connection): void
  /** The user has cut the connection or joined it again, or the stream is gone: what was expected of it is void. */
  onStreamGone?(): void
}

/** A stream that lasted this long, milliseconds, did not fail when it ends: proxies end streams by the clock. */
const stoodMs = 5000
/** Milliseconds between two rounds that something written here may cause while the server is out of reach. */
const nudgeMs = 5000

/**
 * Holds the connection to the server. Two loops run beside each other and neither waits for the other:
 *
 *   stream   one live connection; a poke only says where to look, so a lost one costs time and nothing else [SYNC-3]
 *   rounds   one at the start of each stream; without a stream, or after a failure, one after the other with back-off
 *            [SYNC-8]
 */
export class ConnectionLoop {
  #state: SyncState = initialSync
  #shown = ''
  #term = 0
  #quiet = 0
  #lastRound = Number.NEGATIVE_INFINITY
  #running: Promise<unknown> | null = null
  #round: Promise<void> | null = null
  #next: 'hello' | 'poll' | null = null
  readonly #stop = new AbortController()
  #hangUp = new AbortController()
  readonly #beforeStream = new Pause()
  readonly #beforeRound = new Pause()

  constructor(private readonly parts: LoopParts) {}

  get state(): SyncState {
    return this.#state
  }

  get connection(): Connection {
    return connectionOf(this.#state)
  }

  get closed(): boolean {
    return this.#stop.signal.aborted
  }

  start(): void {
    this.#running ??= Promise.all([this.#streams(), this.#rounds()])
  }

  async close(): Promise<void> {
    this.#stop.abort()
    this.parts.link.setOnline(false)
    this.hurry()
    await this.#running
    await this.#round
  }

  /** Idempotent. Answers whether anything has changed. */
  setOnline(online: boolean): boolean {
    if (online !== this.#state.cut) return false
    this.parts.link.setOnline(online)
    this.#term += 1
    this.hangUp()
    this.parts.onStreamGone?.()
    this.signal({type: online ? 'joined' : 'cut'})
    this.hurry()
    return true
  }

  /** Tries now what waits for the end of a pause. */
  hurry(): void {
    this.#beforeStream.end()
    this.#beforeRound.end()
  }

  /** Something is waiting to be sent while the server is out of reach: that may be worth a try before the pause is over. */
  nudge(): void {
    if (this.parts.environment.elapsed() - this.#lastRound > nudgeMs) this.#beforeRound.end()
  }

  /** There is news, or there will be soon: without a stream it is asked for more often again. */
  expectNews(): void {
    this.#quiet = 0
  }

  /** Ends the stream that is; the next one begins as after any other end. */
  hangUp(): void {
    this.#hangUp.abort()
  }

  signal(signal: SyncSignal): void {
    const before = this.#state
    this.#state = onSignal(before, signal)
    if (this.#state === before) return
    // The pause depends on the state: one that has begun in another is begun anew.
    this.#beforeRound.end('changed')
    const connection = connectionOf(this.#state)
    const shown = JSON.stringify(connection)
    if (shown === this.#shown) return
    this.#shown = shown
    this.parts.onConnection(connection)
  }

  /** A request was answered. */
  answered(): void {
    if (this.#state.asked !== 'answered') this.signal({type: 'answered'})
  }

  /** A request was not answered; rounds begin, and what is to be sent waits for one that is. */
  unanswered(error: HoldfastError): void {
    if (this.#state.asked !== 'failed') this.signal({type: 'unanswered', error})
  }

  /** A round soon, and one more if one is running. */
  ask(why: 'hello' | 'poll' = 'poll'): void {
    if (this.#next !== 'hello') this.#next = why
    this.#round ??= this.#roundsAsked().finally(() => {
      this.#round = null
    })
  }

  async #streams(): Promise<void> {
    while (!this.closed) {
      const {cut, streamFailures, error, asked} = this.#state
      // While polling works a stream is only a convenience, so it is tried at a slower pace.
      const pace = asked === 'answered' ? 2 : 1
      const pause = pace * retryPauseMs(error, streamFailures, this.parts.environment.random())
      if (cut || streamFailures > 0) await this.#beforeStream.wait(cut ? null : pause)
      if (!this.#state.cut && !this.closed) await this.#stream()
    }
  }

  /** One live connection, from opening to its end; what comes of it after the user has cut or joined counts no more. */
  async #stream(): Promise<void> {
    const {link, environment, onStreamGone} = this.parts
    const term = this.#term
    const began = environment.elapsed()
    const isNow = () => term === this.#term && !this.closed
    this.#hangUp = new AbortController()
    const signal = AbortSignal.any([this.#stop.signal, this.#hangUp.signal])
    try {
      await this.parts.beforeStream?.()
      await link.live(message => isNow() && this.#take(message), signal)
      const stood = this.#state.stream !== 'none' && environment.elapsed() - began >= stoodMs
      if (isNow()) this.signal({type: 'ended', stood})
    } catch (error) {
      if (isNow()) this.signal({type: 'failed', error: HoldfastError.from(error, 'offline')})
    }
    if (isNow()) onStreamGone?.()
  }

  #take(message: LiveMessage): void {
    if (message.type === 'hello') {
      this.signal({type: 'connected'})
      this.ask('hello')
    }
    this.parts.onMessage(message)
  }

  /** Asks for news whenever no stream brings it, and again after whatever failed. */
  async #rounds(): Promise<void> {
    while (!this.closed) {
      const random = this.parts.environment.random()
      const woken = await this.#beforeRound.wait(pollPauseMs(this.#state, {quiet: this.#quiet, random}))
      // Meanwhile the stream may have begun, or the user may have cut the connection.
      const due = pollPauseMs(this.#state, {quiet: 0, random}) !== null
      if (woken === 'changed' || !due || this.closed) continue
      this.#quiet += 1
      this.ask()
      await this.#round
    }
  }

  async #roundsAsked(): Promise<void> {
    while (this.#next && !this.closed && !this.#state.cut) {
      const why = this.#next
      this.#next = null
      await this.#ask(why)
    }
    this.#next = null
  }

  async #ask(why: 'hello' | 'poll'): Promise<void> {
    const term = this.#term
    this.#lastRound = this.parts.environment.elapsed()
    try {
      await this.parts.round(why)
      if (term === this.#term) this.answered()
    } catch (error) {
      if (term === this.#term) this.signal({type: 'unanswered', error: HoldfastError.from(error, 'offline')})
    }
  }
}
