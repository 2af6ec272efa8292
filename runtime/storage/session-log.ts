import type {BlobId} from '../protocol/blob.ts'
import {decide} from '../protocol/decide.ts'
import {type Said, stateWithoutSaid} from '../protocol/decision-words.ts'
import {isWorthAsking} from '../protocol/divergence.ts'
import type {Environment} from '../protocol/environment.ts'
import {erasedSentence} from '../protocol/erasure.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {
  type Actor,
  type Draft,
  type Envelope,
  type Event,
  eventContent,
  type LoggedEvent,
  readEvent,
  versionOf,
} from '../protocol/event.ts'
import {evolve} from '../protocol/evolve.ts'
import type {DeviceId, EventId, SessionId, SubjectId} from '../protocol/ids.ts'
import {refusalError} from '../protocol/refusal.ts'
import {initialSession, type SessionState} from '../protocol/session.ts'
import {foldSlots, slotHistoryKinds} from '../protocol/slots.ts'
import {tellListeners} from '../protocol/tell-listeners.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import {limits} from '../protocol/version.ts'
import type {DeviceStore, ErasedSession, Projection, SessionRecord, UnitOfWork} from './device-store.ts'
import {fencedOff, foldPending, followOn} from './fold-log.ts'
import {messageExcerpt} from './message-excerpt.ts'
import {readStored} from './read-stored.ts'

export type Rejection = {id: EventId; reason: string}

export type SessionLogParts = {
  store: DeviceStore
  device: DeviceId
  environment: Environment
  projections: readonly Projection[]
  /** Events that may wait for the server; without one nothing waits for it. */
  backlogLimit?: number
}

/** A draft with its author, and its time if it was written before. */
export type Authored = {actor: Actor; draft: Draft; at?: number}
type Folded = {events: Event[]; record: SessionRecord}
type Work<T> = (unit: UnitOfWork, state: SessionState) => Promise<readonly T[]>
/** What the first drafts of a transaction made, and of what state. */
export type Appended = {before: SessionState; state: SessionState; events: readonly Event[]}
/** Its drafts bring no event ids of their own. Without a unit of work nothing of what was appended is stored yet. */
export type Follow = (appended: Appended, unit: UnitOfWork | null) => readonly Draft[] | Promise<readonly Draft[]>
const nothing: Follow = () => []

/** Milliseconds between two looks whether the server has taken something of a full backlog, and how many. */
const backlog = {paceMs: 100, looks: 20}

/**
 * The only writer of a session on this device. All writes are serialised: decide, store in one transaction, then update
 * the state in memory and notify listeners. A failed write changes nothing. The state in memory is a cache of the stored
 * record.
 */
export class SessionLog {
  readonly id: SessionId
  #record: SessionRecord
  #queue: Promise<unknown> = Promise.resolve()
  #erased: ErasedSession | null
  #pendingCount = 0
  #redactions = 0
  readonly #listeners = new Set<() => void>()

  private constructor(
    private readonly store: DeviceStore,
    private readonly device: DeviceId,
    private readonly environment: Environment,
    private readonly projections: readonly Projection[],
    private readonly backlogLimit: number,
    record: SessionRecord,
    erased: ErasedSession | null,
  ) {
    this.id = record.id
    this.#record = record
    this.#erased = erased
  }

  static async open(parts: SessionLogParts, id: SessionId): Promise<SessionLog> {
    const {store, device, environment, projections, backlogLimit = Number.POSITIVE_INFINITY} = parts
    const record = (await store.session(id)) ?? emptyRecord(id)
    const erased = await store.erased(id)
    const log = new SessionLog(store, device, environment, projections, backlogLimit, record, erased)
    log.#pendingCount = (await store.pending(id, limits.pendingEvents)).length
    return log
  }

  /** Set once the session was erased; then nothing is written to it any more. [RET-3] */
  get erased(): ErasedSession | null {
    return this.#erased
  }

  /** Resolves after all pending writes. Later writes are refused. */
  retire(erased: ErasedSession): Promise<void> {
    return this.#exclusively(async () => {
      this.#erased = erased
    })
  }

  /** The source of this branch was erased: what it has of it in events of its own goes, and is folded anew. [RET-2] */
  dropInherited(): Promise<void> {
    return this.#exclusively(async () => {
      const record = await this.store.transaction(async unit => {
        await unit.dropInherited(this.id)
        const slots = foldSlots(await unit.asOf(this.id, this.head, slotHistoryKinds))
        const confirmed = {...this.#record.confirmed, title: null, slots}
        const current = {...foldPending(confirmed, await unit.pending(this.id)), title: null}
        const next = {...this.#record, confirmed, current}
        await unit.save(next)
        return next
      })
      this.#become(record)
    })
  }

  /** Counts redactions. An answer of the server that was asked for under an earlier count may hold erased words. */
  get redactions(): number {
    return this.#redactions
  }

  /** Call before the words to remove are read: earlier answers are stored before this resolves, or never. [RET-2] */
  beginRedaction(): Promise<void> {
    return this.#exclusively(async () => {
      this.#redactions += 1
    })
  }

  /** Removes words of an erased person from the events and from the state. [RET-2] */
  dropWords(saidBy: SubjectId, said: readonly Said[]): Promise<void> {
    return this.#exclusively(async () => {
      const record = await this.store.transaction(async unit => {
        await unit.dropWords(this.id, saidBy, said)
        return this.#refold(unit, stateWithoutSaid(this.#record.confirmed, said), [])
      })
      this.#become(record)
    })
  }

  /** Confirmed and pending events folded: what this device acts on. */
  get state(): SessionState {
    return this.#record.current
  }

  get record(): SessionRecord {
    return this.#record
  }

  /** The last seq this device has folded; everything up to it is here, gapless. */
  get head(): number {
    return this.#record.confirmed.head
  }

  /** Confirmed events that this device had are missing, and the server has not brought them back yet. [LOG-9] */
  get isBehind(): boolean {
    return this.head < this.store.highWater(this.id)
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  read(limit: number): Promise<DurableEvent[]> {
    return this.store.read(this.id, limit)
  }

  /**
   * Appends all drafts or none. Resolves when they are durable. A draft with its own id is stored only once. [LOG-1, LOG-3,
   * LOG-6] The drafts that `follow` returns for the new state commit in the same transaction, which saves one for the next
   * step. If they are refused, only they are omitted.
   *
   * @throws HoldfastError `refused` or `stale_epoch` when the state does not allow it, `bad_input` naming the field
   */
  async append(actor: Actor, drafts: readonly Draft[], follow = nothing): Promise<void> {
    await this.#roomInBacklog()
    // Decide before the transaction begins, so that it holds the database for less time.
    await this.#exclusively(async () => {
      const fresh = await this.#withoutRepeats(this.store, by(actor, drafts))
      if (fresh.length === 0) return
      const first = this.#fold(this.#record, fresh)
      const second = await this.#followed(first, actor, follow, null)
      await this.#commit(async unit => {
        await this.#project(unit, [...first.events, ...second.events])
        return [first, second]
      })
    })
  }

  /** As `append`, with work whose writes commit together with the events it returns, or not at all. [OP-1] */
  async appendWith(actor: Actor, work: Work<Draft>, follow = nothing): Promise<void> {
    await this.#roomInBacklog()
    await this.#exclusively(() =>
      this.#commit(async unit => {
        const first = await this.#foldWork(unit, async (unit, state) => by(actor, await work(unit, state)))
        const second = await this.#followed(first, actor, follow, unit)
        await this.#project(unit, second.events)
        return [first, second]
      }),
    )
  }

  /** As `appendWith`, each with its own author: work that was done elsewhere joins this log. [CUS-4] */
  appendAuthored(work: Work<Authored>): Promise<void> {
    return this.#exclusively(() => this.#commit(async unit => [await this.#foldWork(unit, work)]))
  }

  async #foldWork(unit: UnitOfWork, work: Work<Authored>): Promise<Folded> {
    const authored = await work(unit, this.#record.current)
    const folded = this.#fold(this.#record, await this.#withoutRepeats(unit, authored))
    await this.#project(unit, folded.events)
    return folded
  }

  /** Stores what `work` has folded, each from where the one before it ended. */
  async #commit(work: (unit: UnitOfWork) => Promise<Folded[]>): Promise<void> {
    let appended = 0
    const next = await this.store.transaction(async unit => {
      const folded = await work(unit)
      const events = folded.flatMap(({events}) => events)
      const {record} = folded.at(-1) ?? {record: this.#record}
      if (events.length === 0) return this.#record
      await unit.append(events, this.head)
      await unit.advance(record)
      appended = events.length
      return record
    })
    this.#pendingCount += appended
    this.#become(next)
  }

  /**
   * Folds confirmed events that follow the head, in order; what is already here is skipped, a gap ends the batch. [SYNC-3]
   * `askedAt`: the count of redactions before the request; if there was one since, nothing is stored. [RET-2]
   */
  receive(events: readonly Envelope[], askedAt?: number): Promise<void> {
    return this.#exclusively(async () => {
      if (askedAt !== undefined && askedAt !== this.#redactions) return
      const fresh = followOn(events, this.head).map(readStored)
      if (fresh.length === 0) return
      const next = await this.store.transaction(async unit => {
        await unit.confirm(fresh)
        await this.#project(unit, fresh)
        await this.#setAside(unit, fresh)
        return this.#refold(unit, fresh.reduce(evolve, this.#record.confirmed), fresh)
      })
      this.#become(next)
    })
  }

  /** Keeps bytes of this session that the server has; none of one that was erased meanwhile. [RET-3] */
  keepBlob(blob: {id: BlobId; bytes: Uint8Array}): Promise<void> {
    return this.#exclusively(() => this.store.transaction(unit => unit.saveBlob(this.id, {...blob, state: 'sent'})))
  }

  /**
   * Assigns new device sequences to the pending events, in the same order. A database that was restored from an older copy
   * reuses numbers that the server has for other events. Renumbering is safe: the server has no pending event, and events
   * refer to each other by id. [LOG-2, LOG-9]
   */
  renumber(): Promise<void> {
    return this.#exclusively(async () => {
      const next = await this.store.transaction(async unit => {
        const pending = await unit.pending(this.id)
        const own = pending.filter(({device}) => device === this.device)
        const used = [this.#record.deviceSeq, this.#record.confirmed.written[this.device] ?? 0]
        const last = Math.max(...used, ...own.map(({deviceSeq}) => deviceSeq ?? 0))
        await unit.renumber(
          this.id,
          own.map((event, i) => ({...event, deviceSeq: last + 1 + i})),
        )
        const record = await this.#refold(unit, this.#record.confirmed, [])
        const counted = {...record, deviceSeq: last + own.length}
        await unit.save(counted)
        return counted
      })
      this.#become(next)
    })
  }

  /** Keeps what the server refused, with its reasons, and folds the session without it. [SYNC-2] */
  reject(rejections: readonly Rejection[]): Promise<void> {
    return this.#exclusively(async () => {
      if (rejections.length === 0) return
      const next = await this.store.transaction(async unit => {
        for (const {id, reason} of rejections) await unit.reject(id, reason, this.head)
        return this.#refold(unit, this.#record.confirmed, [])
      })
      this.#become(next)
    })
  }

  /**
   * Sets aside pending events that were fenced off when custody moved. They can never be confirmed, so no later event may
   * depend on them. The person can choose what happens to them. [CUS-4, SYNC-2]
   */
  async #setAside(unit: UnitOfWork, fresh: readonly LoggedEvent[]): Promise<void> {
    const before = this.#record.confirmed
    const lost = fencedOff(before, fresh, await unit.pending(this.id))
    const first = lost?.events[0]
    if (!lost || !first) return
    const ids = lost.events.map(({id}) => id)
    const own = await unit.lastOwn(this.id, this.device, {seq: lost.seq, deviceSeq: first.deviceSeq ?? 0})
    const base = Math.max(own, ...(await unit.basedOn(ids)))
    await unit.setAside({
      session: this.id,
      events: ids,
      reason: 'Custody had moved to another device before the server had this; it was set aside here.',
      head: before.head + fresh.length,
      divergence: isWorthAsking(lost.events) ? {id: first.id, base} : null,
    })
  }

  /** Applies back-pressure: waits while the backlog is full, and throws if the server accepts nothing. [SYNC-6] */
  async #roomInBacklog(): Promise<void> {
    for (let looks = 0; this.#pendingCount >= this.backlogLimit; looks++) {
      if (looks === backlog.looks) {
        throw new HoldfastError(
          'backlog_full',
          `${this.#pendingCount} entries of this session wait for the server; nothing more is taken until it has some of them`,
          {details: {pending: this.#pendingCount, limit: this.backlogLimit}},
        )
      }
      await new Promise(resolve => setTimeout(resolve, backlog.paceMs))
    }
  }

  async #withoutRepeats(reads: Pick<UnitOfWork, 'byIds'>, authored: readonly Authored[]): Promise<readonly Authored[]> {
    const drafts = authored.map(({draft}) => draft)
    const named = drafts.flatMap(draft => draft.id ?? [])
    if (named.length === 0) return authored
    const known = new Map((await reads.byIds(named)).map(event => [event.id, event]))
    for (const draft of drafts) {
      const earlier = draft.id && known.get(draft.id)
      if (earlier && (earlier.session !== this.id || !sameDraft(draft, earlier))) {
        throw new HoldfastError('conflict', `event ${draft.id}: already stored with other content`, {
          details: {field: 'id'},
        })
      }
    }
    return authored.filter(
      ({draft}, i) => !draft.id || (!known.has(draft.id) && drafts.findIndex(({id}) => id === draft.id) === i),
    )
  }

  /** Whoever looks next does what is not taken here as a step of its own, and hears why it fails. */
  async #followed(first: Folded, actor: Actor, follow: Follow, unit: UnitOfWork | null): Promise<Folded> {
    const {events, record} = first
    if (events.length === 0) return first
    const appended = {before: this.#record.current, state: record.current, events}
    try {
      return this.#fold(record, by(actor, await follow(appended, unit)))
    } catch (error) {
      if (!HoldfastError.is(error)) throw error
      return {events: [], record}
    }
  }

  #fold(record: SessionRecord, authored: readonly Authored[]): Folded {
    let {current} = record
    // A database that was set back has written more than it knows; what the log has of this device counts. [LOG-2]
    let deviceSeq = Math.max(record.deviceSeq, current.written[this.device] ?? 0)
    const events = authored.map(one => {
      deviceSeq += 1
      const event = this.#complete(one, deviceSeq)
      const verdict = decide(current, event)
      if (verdict.refusal) throw refusalError(verdict.refusal)
      current = evolve(current, event)
      return event
    })
    return {events, record: this.#touched({...record, current, deviceSeq}, events)}
  }

  #complete({draft, actor, at}: Authored, deviceSeq: number): Event {
    const event = readEvent({
      id: draft.id ?? this.environment.id('event'),
      session: this.id,
      seq: null,
      device: this.device,
      deviceSeq,
      actor,
      at: at ?? this.environment.now(),
      v: versionOf(draft.kind),
      ...draft,
    })
    if ('unreadable' in event) throw new HoldfastError('bad_input', `event.kind: ${event.unreadable}`)
    return event
  }

  async #refold(unit: UnitOfWork, confirmed: SessionState, fresh: readonly LoggedEvent[]): Promise<SessionRecord> {
    const pending = await unit.pending(this.id)
    this.#pendingCount = pending.length
    const current = foldPending(confirmed, pending)
    const record = this.#touched({...this.#record, confirmed, current}, fresh)
    await unit.save(record)
    return record
  }

  async #project(unit: UnitOfWork, events: readonly LoggedEvent[]): Promise<void> {
    for (const projection of this.projections) await projection.apply(unit, this.id, events)
  }

  #touched(record: SessionRecord, events: readonly LoggedEvent[]): SessionRecord {
    const said = events.findLast(event => event.kind === 'message.posted' && !('unreadable' in event))
    const excerpt = said ? messageExcerpt(said.data) : record.excerpt
    return {...record, excerpt, updatedAt: this.environment.now()}
  }

  #become(record: SessionRecord): void {
    if (record === this.#record) return
    this.#record = record
    tellListeners<void>(this.#listeners, undefined)
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(() => {
      if (this.#erased) throw new HoldfastError('erased', erasedSentence(this.#erased))
      return work()
    })
    this.#queue = result.catch(() => undefined)
    return result
  }
}

function by(actor: Actor, drafts: readonly Draft[]): Authored[] {
  return drafts.map(draft => ({actor, draft}))
}

function emptyRecord(id: SessionId): SessionRecord {
  return {id, confirmed: initialSession, current: initialSession, deviceSeq: 0, excerpt: '', updatedAt: 0}
}

function sameDraft(draft: Draft, event: LoggedEvent): boolean {
  return (
    draft.kind === event.kind &&
    JSON.stringify(draft.data) === JSON.stringify((eventContent(event as Envelope) as {data: unknown}).data)
  )
}
