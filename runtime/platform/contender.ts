import {HoldfastError} from '../protocol/errors.ts'
import {causeOfError, type Opening, type OpeningCause, sameOpening} from '../protocol/opening.ts'
import {type Build, isNewer} from './build.ts'
import {type Deadlines, delay} from './deadline.ts'
import {type Drainable, drainable} from './drainable.ts'
import {openFeed} from './feed.ts'
import {diagnoseFiles} from './file-diagnosis.ts'
import type {HostContext, HostOptions, Opened} from './host-worker.ts'
import {type LastOwner, lastOwnerOf} from './last-owner.ts'
import {type Leadership, type LeadershipMessage, type Link, openLeadership} from './leadership.ts'
import {channelNames} from './locks.ts'
import {paceMs} from './pace.ts'
import {connectService, exposeService, methodProxy} from './rpc.ts'
import {type Silence, silence} from './silence.ts'
import {type Line, type Ownership, standInLine} from './stand-in-line.ts'
import type {Target} from './target.ts'
import type {Role, ToPage} from './worker-messages.ts'

export interface ContenderStart<Config> {
  /** This worker's id. */
  id: string
  name: string
  config: Config
  deadlines: Deadlines
  build: Build
  target: Target
  lastOwner: LastOwner | null
  /** Stops answering this worker's page. */
  hide(): void
  tell(message: ToPage): void
}

/** Milliseconds in which calls wait while the files are locked. Such a lock is usually released within seconds. */
const busyPatienceMs = 10_000
/** Longest time, in milliseconds, that a yielding leader waits for its pending calls. */
const drainMs = 4_000
/** Milliseconds that a newer build waits for an older leader to yield. After that it steals the lock. */
const yieldPatienceMs = 8_000

/**
 * One worker in the leader election for the database. It follows the current leader while it waits for the lock. With the
 * lock it opens the database, and retries a failed open for as long as its page lives. It leads until it terminates or
 * yields to a newer build.
 */
export class Contender<S extends object, Config> {
  readonly #leadership: Leadership
  #line: Line | null = null
  #opened: Opened<S> | null = null
  #stolen = false
  #yielding = false
  #shown: Opening | null = null
  #owner: string | null = null
  /** Id of the owner that this worker took the lock from. */
  #predecessor: string | null = null
  #lastOwner: LastOwner | null
  #older: {leader: string; since: number} | null = null
  #successor: string | null = null
  #yielded: (() => void) | null = null
  /** The opening state to show while the leader answers. */
  #following: Opening | null = null

  constructor(
    private readonly options: HostOptions<S, Config>,
    private readonly start: ContenderStart<Config>,
  ) {
    const {name, id, build} = start
    this.#lastOwner = start.lastOwner
    this.#leadership = openLeadership({
      name,
      self: id,
      build,
      follow: link => this.#follow(link),
      hear: message => this.#hear(message),
    })
  }

  async run(): Promise<void> {
    const since = performance.now()
    let kept: Ownership | null = null
    for (let failures = 0; ; ) {
      const ownership: Ownership = kept ?? (await this.#own())
      kept = null
      this.#showDatabase(failures + 1)
      try {
        await this.#lead(ownership)
        failures = 0
      } catch (error) {
        // Keep a taken-over lock: the next holder would not know that the former owner may still hold the files.
        if (ownership.tookOver && !this.#stolen) kept = ownership
        else {
          ownership.release()
          this.#leadership.follow()
        }
        failures += 1
        await this.#failed(HoldfastError.from(error), failures, performance.now() - since)
      }
    }
  }

  async #own(): Promise<Ownership> {
    const {name} = this.start
    this.#stolen = false
    // The link to a leader can be established before the request for the lock.
    if (!this.#leadership.linked()) this.#showRole('starting')
    const line = standInLine(name, {
      lost: () => this.#lost(),
      silent: silence => this.#silent(silence),
    })
    this.#line = line
    const ownership = await line.owned
    this.#line = null
    if (ownership.tookOver) {
      this.#predecessor = this.#owner
      if (this.#owner) this.#leadership.depose(this.#owner)
    }
    return ownership
  }

  /** Opens and serves the database. Resolves after this worker has yielded, rejects when the open fails. */
  async #lead({tookOver, release}: Ownership): Promise<void> {
    const {name, config, target, id} = this.start
    const context: HostContext = {
      name,
      epoch: crypto.randomUUID(),
      tookOver: tookOver && (await this.#predecessorLives()),
      lastOwner: this.#lastOwner,
      feed: openFeed(name),
      crash: (error, rescued) => this.#crash(error, rescued),
    }
    const opened = await this.options.open(config, context)
    this.#opened = opened
    // Another worker stole the lock during the open.
    if (this.#stolen) return void this.#lost()
    const served = drainable(opened.service)
    const storage = opened.storage ?? null
    this.#lastOwner = lastOwnerOf(storage)
    this.#leadership.lead(storage, link => exposeService(methodProxy(served.call), link.channel))
    target.set(served.call)
    this.#owner = id
    this.#show({state: 'open', role: 'leader', storage})
    this.#showRole('leader')
    await new Promise<void>(resolve => {
      this.#yielded = resolve
    })
    await this.#close(served, opened)
    // The successor steals the lock within this time. If it has terminated, the next queued worker gets the lock.
    await delay(1_000)
    release()
  }

  /** Each worker holds its own lock until it terminates, also while it is frozen. */
  async #predecessorLives(): Promise<boolean> {
    if (this.#predecessor === null) return true
    const {held = []} = await navigator.locks.query()
    const lock = channelNames.alive(this.start.name, this.#predecessor)
    return held.some(({name}) => name === lock)
  }

  async #close(served: Drainable, opened: Opened<S>): Promise<void> {
    const {target, id} = this.start
    await served.drain(drainMs)
    await opened.close().catch(() => {})
    this.#opened = null
    target.unset(served.call)
    served.release()
    const to = this.#successor ?? ''
    this.#leadership.follow()
    this.#leadership.post({type: 'yielded', leader: id, to})
    this.#yielding = false
  }

  async #failed(error: HoldfastError, failures: number, elapsedMs: number): Promise<void> {
    const busy = error.code === 'database_locked' && elapsedMs < busyPatienceMs
    if (!busy) this.start.target.fail(error, {forGood: true})
    const cause = causeOfError(error.toBody())
    if (cause.kind === 'unknown') return this.#spent((await diagnoseFiles()) ?? cause)
    const waitMs = paceMs(busy ? 0 : failures)
    const nextAt = Date.now() + waitMs
    if (cause.kind === 'newer_data') this.#show({state: 'failed', cause, ways: ['reload']})
    else this.#show({state: 'opening', step: 'database', since: Date.now(), attempt: failures + 1, cause, nextAt})
    await delay(waitMs)
  }

  /** Hands over to a new worker: an engine that was loaded from wrong files cannot be loaded again in this one. */
  async #spent(cause: OpeningCause): Promise<void> {
    this.#leadership.close()
    this.start.tell({holdfast: 'spent', cause})
    await new Promise(() => {})
  }

  /** Another worker stole the lock. This worker terminates itself, and its page starts a new one. */
  #lost(): void {
    this.#stolen = true
    const opened = this.#opened
    // Either the hand-over has closed the database, or `#lead` is still opening it and checks `#stolen`.
    if (!opened) return
    const error = new HoldfastError('peer_gone', 'Another tab took this database over.')
    this.start.hide()
    this.#leadership.close()
    void opened
      .close()
      .catch(() => {})
      .finally(() => {
        reportError(error)
        self.close()
      })
  }

  #crash(error: HoldfastError, rescued?: unknown): void {
    // A crash during the open rejects the open, and `run` retries it.
    if (!this.#opened) return
    if (this.#lastOwner && rescued !== undefined) {
      this.start.tell({holdfast: 'rescued', rescued})
      this.#leadership.post({type: 'rescued', leader: this.start.id, lastOwner: {...this.#lastOwner, rescued}})
    }
    // No call may be answered from here on. Callers detect the dead peer themselves and retry with the next leader.
    this.start.hide()
    this.#leadership.close()
    reportError(error)
    // Release the lock now: a frozen page would not terminate this worker.
    self.close()
  }

  #follow(link: Link): () => void {
    const {target, deadlines, build, tell} = this.start
    const connection = connectService(link.channel, deadlines)
    target.set(connection.call)
    if (link.leader && isNewer(link.leader.build, build)) tell({holdfast: 'newer', build: link.leader.build})
    this.#lastOwner = lastOwnerOf(link.leader?.storage)
    this.#following = {state: 'open', role: 'follower', storage: link.leader?.storage ?? null}
    this.#show(this.#following)
    // Pages reload their state on a role change, so report one also for a direct change of leader.
    this.#showRole('starting')
    this.#showRole('follower')
    return () => {
      if (target.unset(connection.call)) this.#showRole('starting')
      connection.fail('The tab that owns the database went away before it answered.')
    }
  }

  #hear(message: LeadershipMessage): void {
    this.#line?.hear(message)
    switch (message.type) {
      case 'leader':
        this.#owner = message.leader
        this.#askToYield(message.leader, message.build)
        return
      case 'opening':
        this.#owner = message.worker
        if (this.#line && message.opening.state === 'opening') {
          const {since, cause, nextAt, attempt} = message.opening
          this.#show({state: 'opening', step: 'owner', since, attempt, cause, nextAt})
        }
        return
      case 'succeed':
        if (message.leader === this.start.id && isNewer(message.build, this.start.build)) this.#yieldTo(message)
        return
      case 'rescued':
        this.#lastOwner = message.lastOwner
        return
      case 'yielded':
        if (message.to === this.start.id) this.#line?.takeNow()
    }
  }

  /** Requests a hand-over when this build is newer than the leader's, and steals the lock after `yieldPatienceMs`. */
  #askToYield(leader: string, build: Build | undefined): void {
    if (!this.#line || (build && !isNewer(this.start.build, build))) return
    if (this.#older?.leader !== leader) this.#older = {leader, since: performance.now()}
    if (performance.now() - this.#older.since > yieldPatienceMs) this.#line.takeNow()
    else this.#leadership.post({type: 'succeed', leader, worker: this.start.id, build: this.start.build})
  }

  #yieldTo({worker, build}: {worker: string; build: Build}): void {
    if (this.#yielding || !this.#yielded) return
    this.#yielding = true
    this.#successor = worker
    this.start.tell({holdfast: 'newer', build})
    this.#yielded()
    this.#yielded = null
  }

  #silent({since, state}: Silence): void {
    if (state !== 'answers') {
      const silentSince = round(Date.now() - (performance.now() - since))
      const nextAt = state === 'silent' ? silentSince + silence.takenOverMs : null
      this.#show({state: 'blocked', by: 'frozen_tab', since: silentSince, nextAt})
    } else if (this.#leadership.linked()) {
      if (this.#following) this.#show(this.#following)
    } else if (this.#shown?.state !== 'opening') {
      this.#show({state: 'opening', step: 'owner', since: Date.now(), attempt: 1, cause: null, nextAt: null})
    }
  }

  #showDatabase(attempt: number): void {
    const opening: Opening = {
      state: 'opening',
      step: 'database',
      since: Date.now(),
      attempt,
      // Keep showing the cause of the last failure until this attempt ends.
      cause: this.#shown?.state === 'opening' ? this.#shown.cause : null,
      nextAt: null,
    }
    this.#show(opening)
  }

  #show(opening: Opening): void {
    if (this.#shown && sameOpening(this.#shown, opening)) return
    this.#shown = opening
    if (!this.#line && opening.state === 'opening' && opening.nextAt === null) this.#leadership.opening(opening)
    this.start.tell({holdfast: 'opening', opening})
  }

  #showRole(role: Role): void {
    this.start.tell({holdfast: 'role', role})
  }
}

/** Rounds to a second, so that an unchanged state is not sent again. */
function round(ms: number): number {
  return Math.round(ms / 1000) * 1000
}
