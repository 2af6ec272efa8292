import {decide} from '../protocol/decide.ts'
import type {Environment} from '../protocol/environment.ts'
import {erasedSentence} from '../protocol/erasure.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {
  type Actor,
  type Draft,
  type Envelope,
  type Event,
  eventContent,
  eventVersion,
  type LoggedEvent,
  readEvent,
} from '../protocol/event.ts'
import {evolve} from '../protocol/evolve.ts'
import type {DeviceId, EventId, SessionId} from '../protocol/ids.ts'
import {refusalError} from '../protocol/refusal.ts'
import {initialSession, type SessionState} from '../protocol/session.ts'
import type {DurableEvent} from '../protocol/transcript.ts'
import {limits} from '../protocol/version.ts'
import type {DeviceStore, ErasedSession, Projection, SessionRecord, UnitOfWork} from './device-store.ts'
import {foldPending, followOn} from './fold-log.ts'
import {readStored} from './read-stored.ts'

export type Rejection = {id: EventId; reason: string}

/**
 * The one writer of one session on this device. Everything goes through its queue: decide with the shared code, store
 * in one transaction, and only then change the state in memory and tell listeners: a failed write leaves both as they
 * were. The state in memory is a cache of the stored record, never a truth of its own.
 */
export class SessionLog {
  readonly id: SessionId
  #record: SessionRecord
  #queue: Promise<unknown> = Promise.resolve()
  #erased: ErasedSession | null
  readonly #listeners = new Set<() => void>()

  private constructor(
    private readonly store: DeviceStore,
    private readonly device: DeviceId,
    private readonly environment: Environment,
    private readonly projections: readonly Projection[],
    record: SessionRecord,
    erased: ErasedSession | null,
  ) {
    this.id = record.id
    this.#record = record
    this.#erased = erased
  }

  static async open(
    parts: {store: DeviceStore; device: DeviceId; environment: Environment; projections: readonly Projection[]},
    id: SessionId,
  ): Promise<SessionLog> {
    const record = (await parts.store.session(id)) ?? emptyRecord(id)
    return new SessionLog(
      parts.store,
      parts.device,
      parts.environment,
      parts.projections,
      record,
      await parts.store.erased(id),
    )
  }

  /** Set once the session was erased; then nothing is written to it any more. [RET-3] */
  get erased(): ErasedSession | null {
    return this.#erased
  }

  /** Resolves when nothing under way can write to this session any more: what comes later is refused. */
  retire(erased: ErasedSession): Promise<void> {
    return this.#exclusively(async () => {
      this.#erased = erased
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

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  read(limit: number): Promise<DurableEvent[]> {
    return this.store.read(this.id, limit)
  }

  /**
   * Appends all drafts or none; resolves when they are durable. A draft that brings its own id is stored once however
   * often it comes. [LOG-1, LOG-3, LOG-6]
   *
   * @throws HoldfastError `refused` or `stale_epoch` when the state does not allow it, `bad_input` naming the field
   */
  append(actor: Actor, drafts: readonly Draft[]): Promise<void> {
    return this.appendWith(actor, async () => drafts)
  }

  /** As `append`, with work whose writes commit together with the events it returns, or not at all. [OP-1] */
  appendWith(actor: Actor, work: (unit: UnitOfWork, state: SessionState) => Promise<readonly Draft[]>): Promise<void> {
    return this.#exclusively(async () => {
      const next = await this.store.transaction(async unit => {
        const drafts = await this.#withoutRepeats(unit, await work(unit, this.#record.current))
        if (drafts.length === 0) return this.#record
        const folded = this.#fold(drafts, actor)
        await unit.append(folded.events)
        await this.#project(unit, folded.events)
        await unit.save(folded.record)
        return folded.record
      })
      this.#become(next)
    })
  }

  /** Folds confirmed events that follow the head, in order; what is already here is skipped, a gap ends the batch. [SYNC-3] */
  receive(events: readonly Envelope[]): Promise<void> {
    return this.#exclusively(async () => {
      const fresh = followOn(events, this.head).map(readStored)
      if (fresh.length === 0) return
      const next = await this.store.transaction(async unit => {
        for (const event of fresh) await unit.confirm(event)
        await this.#project(unit, fresh)
        return this.#refold(unit, fresh.reduce(evolve, this.#record.confirmed), fresh)
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

  async #withoutRepeats(unit: UnitOfWork, drafts: readonly Draft[]): Promise<readonly Draft[]> {
    const named = drafts.flatMap(draft => draft.id ?? [])
    if (named.length === 0) return drafts
    const known = new Map((await unit.byIds(named)).map(event => [event.id, event]))
    for (const draft of drafts) {
      const earlier = draft.id && known.get(draft.id)
      if (earlier && (earlier.session !== this.id || !sameDraft(draft, earlier))) {
        throw new HoldfastError('conflict', `event ${draft.id}: already stored with other content`, {
          details: {field: 'id'},
        })
      }
    }
    return drafts.filter(
      (draft, i) => !draft.id || (!known.has(draft.id) && drafts.findIndex(({id}) => id === draft.id) === i),
    )
  }

  #fold(drafts: readonly Draft[], actor: Actor): {events: Event[]; record: SessionRecord} {
    let {current, deviceSeq} = this.#record
    const events = drafts.map(draft => {
      deviceSeq += 1
      const event = this.#complete(draft, actor, deviceSeq)
      const verdict = decide(current, event)
      if (verdict.refusal) throw refusalError(verdict.refusal)
      current = evolve(current, event)
      return event
    })
    return {events, record: this.#touched({...this.#record, current, deviceSeq}, events)}
  }

  #complete(draft: Draft, actor: Actor, deviceSeq: number): Event {
    const event = readEvent({
      id: draft.id ?? this.environment.id('event'),
      session: this.id,
      seq: null,
      device: this.device,
      deviceSeq,
      actor,
      at: this.environment.now(),
      v: eventVersion,
      ...draft,
    })
    if ('unreadable' in event) throw new HoldfastError('bad_input', `event.kind: ${event.unreadable}`)
    return event
  }

  async #refold(unit: UnitOfWork, confirmed: SessionState, fresh: readonly LoggedEvent[]): Promise<SessionRecord> {
    const pending = await unit.pending(this.id)
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
    const excerpt = said ? excerptOf(String((said.data as {text?: unknown}).text)) : record.excerpt
    return {...record, excerpt, updatedAt: this.environment.now()}
  }

  #become(record: SessionRecord): void {
    if (record === this.#record) return
    this.#record = record
    for (const listener of this.#listeners) listener()
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

function emptyRecord(id: SessionId): SessionRecord {
  return {id, confirmed: initialSession, current: initialSession, deviceSeq: 0, excerpt: '', updatedAt: 0}
}

function sameDraft(draft: Draft, event: LoggedEvent): boolean {
  return (
    draft.kind === event.kind &&
    JSON.stringify(draft.data) === JSON.stringify((eventContent(event as Envelope) as {data: unknown}).data)
  )
}

function excerptOf(text: string): string {
  return text.length > limits.excerptCharacters ? `${text.slice(0, limits.excerptCharacters)}…` : text
}
