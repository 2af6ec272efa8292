import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Connection} from '../protocol/session-view.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import {askedPauseMs, retryPauseMs} from './back-off.ts'
import type {CuttableLink} from './http-link.ts'
import {Pause} from './pause.ts'
import {connectionOf, initialSync, onSignal, pollPauseMs, type SyncSignal, type SyncState} from './sync-state.ts'

export type LoopParts = {
  link: Pick<CuttableLink, 'live' | 'setOnline'>
  environment: Environment
  /**
   * Requests everything that may have been missed. `hello`: at the start of a stream; `poll`: without one. If it
   * throws, it is repeated.
   */
  round(why: 'hello' | 'poll'): Promise<void>
  /** Called before each stream. If it throws, the stream does not start. */
  beforeStream?(): Promise<void>
  /** Called for every message of the stream. `hello` has been processed before. */
  onMessage(message: LiveMessage): void
  onConnection(connection: Connection): void
  /** The user has disconnected or reconnected, or the stream has ended: nothing more is expected of it. */
  onStreamGone?(): void
}

/** A stream that lasted this many milliseconds did not fail when it ends: proxies close streams after a fixed time. */
const stoodMs = 5000
/** Minimum milliseconds between two rounds that local writes start while the server is unreachable. */
const nudgeMs = 5000

/**
 * Holds the connection to the server with two independent loops:
 *
 *   stream   one live connection. A poke only says where to look, so a lost poke only costs time. [SYNC-3]
 *   rounds   one at the start of each stream; without a stream, or after a failure, repeated with back-off. [SYNC-8]
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

  /** Idempotent. Returns whether the state has changed. */
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

  /** Ends the current pauses. */
  hurry(): void {
    this.#beforeStream.end()
    this.#beforeRound.end()
  }

  /**
   * Something waits to be sent, or a person waits, while the server is unreachable: tries before the pause ends, at a
   * bounded rate. A pause that the server asked for is kept. Returns whether it tries now.
   */
  nudge(): boolean {
    if (askedPauseMs(this.#state.error) !== null) return false
    if (this.parts.environment.elapsed() - this.#lastRound <= nudgeMs) return false
    this.#beforeRound.end()
    return true
  }

  /** Changes are expected: without a stream, polls more often again. */
  expectNews(): void {
    this.#quiet = 0
  }

  /** Ends the current stream. The next one starts as after any other end. */
  hangUp(): void {
    this.#hangUp.abort()
  }

  signal(signal: SyncSignal): void {
    const before = this.#state
    this.#state = onSignal(before, signal)
    if (this.#state === before) return
    // The length of the pause depends on the state, so it starts again.
    this.#beforeRound.end('changed')
    // The server answers again, so the stream need not wait for the end of its own pause.
    if (before.asked === 'failed' && this.#state.asked === 'answered') this.#beforeStream.end()
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

  /** A request failed: rounds start, and sending waits until one succeeds. */
  unanswered(error: HoldfastError): void {
    if (this.#state.asked !== 'failed') this.signal({type: 'unanswered', error})
  }

  /** Starts a round, or another one after the running one. */
  ask(why: 'hello' | 'poll' = 'poll'): void {
    if (this.#next !== 'hello') this.#next = why
    this.#round ??= this.#roundsAsked().finally(() => {
      this.#round = null
    })
  }

  async #streams(): Promise<void> {
    while (!this.closed) {
      const {cut, streamFailures, error, asked} = this.#state
      // While polling works, the stream is less urgent, so it is retried more slowly.
      const pace = asked === 'answered' ? 2 : 1
      const pause = pace * retryPauseMs(error, streamFailures, this.parts.environment.random())
      if (cut || streamFailures > 0) await this.#beforeStream.wait(cut ? null : pause)
      if (!this.#state.cut && !this.closed) await this.#stream()
    }
  }

  /**
   * One live connection from start to end. Results that arrive after the user has disconnected or reconnected are
   * ignored.
   */
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

  /** Runs rounds while no stream brings changes, and repeats failed ones. */
  async #rounds(): Promise<void> {
    while (!this.closed) {
      const random = this.parts.environment.random()
      const woken = await this.#beforeRound.wait(pollPauseMs(this.#state, {quiet: this.#quiet, random}))
      // In the meantime the stream may have started, or the user may have disconnected.
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
