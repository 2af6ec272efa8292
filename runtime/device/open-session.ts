import {foldDocument} from '../documents/shared-text.ts'
import type {LoopParts} from '../loop/perform-step.ts'
import {RunLoop} from '../loop/run-loop.ts'
import type {Divergence} from '../protocol/divergence.ts'
import type {EventId, RunId, SessionId} from '../protocol/ids.ts'
import type {LocalRecords, Passport} from '../protocol/passport.ts'
import {sameBytes} from '../protocol/same-bytes.ts'
import type {Connection, SessionView} from '../protocol/session-view.ts'
import type {StandingEffects} from '../protocol/standing-effects.ts'
import {limits} from '../protocol/version.ts'
import type {HeldView} from '../protocol/view-frame.ts'
import type {DeviceStore, ErasedSession, Projection, SessionRecord} from '../storage/device-store.ts'
import {SessionLog} from '../storage/session-log.ts'
import {buildSessionView, buildTranscript, screen, type Transcript, type ViewParts} from './build-view.ts'
import {latestDivergence} from './divergences.ts'
import {readOpenOperations} from './read-open-operations.ts'
import type {Publisher} from './runtime-service.ts'
import {effectsAfter} from './standing.ts'
import {ViewPublisher} from './view-publisher.ts'

export type OpenSessionParts = Omit<LoopParts, 'log' | 'onText' | 'takeCustody'> & {
  takeCustody(log: SessionLog): Promise<void>
  projections: readonly Projection[]
  publisher: Publisher
  connection(): Connection
  /** Events that may wait for the server; none waits where there is none. */
  backlogLimit?: number
}

type StoredParts = Pick<
  ViewParts,
  | 'record'
  | 'events'
  | 'earlier'
  | 'local'
  | 'openOperations'
  | 'setAside'
  | 'divergence'
  | 'settled'
  | 'blobsOnlyHere'
  | 'erasedSource'
>

/** Milliseconds between two updates of streamed text. */
const textPaceMs = 40

/** An open session: its log, its loop, and its view. */
export class OpenSession {
  #watched = false
  #streaming: {run: RunId; text: string} | null = null
  #publishing: Promise<void> | null = null
  #stale = false
  #closed = false
  #syncFault: string | null = null
  #divergence: {key: string; latest: Divergence | null} = {key: '[]', latest: null}
  #standing: {key: string; effects: StandingEffects} | null = null
  /** The change after which the documents were last published. Streamed text does not change them. */
  #documentsAt = 0
  readonly #documents = new Map<string, Uint8Array | null>()
  readonly #views: ViewPublisher
  /** Counts changes that may affect the stored parts of the view. */
  #storedChange = 0
  #stored: {change: number; parts: StoredParts} | null = null
  #transcript: {of: StoredParts; erased: ErasedSession | null; parts: Transcript} | null = null
  readonly loop: RunLoop

  private constructor(
    private readonly parts: OpenSessionParts,
    readonly log: SessionLog,
  ) {
    this.loop = new RunLoop({
      ...parts,
      log,
      takeCustody: () => parts.takeCustody(log),
      onText: (run, text) => this.#textChanged(run, text),
    })
    this.loop.onChange(() => this.#changed())
    log.onChange(() => {
      this.#storedChange += 1
      this.#changed()
    })
    this.#views = new ViewPublisher({
      opening: crypto.randomUUID(),
      make: () => this.view(),
      publish: frame => {
        if (!this.#closed) parts.publisher.publish(`session:${log.id}`, frame)
      },
    })
  }

  static async open(parts: OpenSessionParts, id: SessionId): Promise<OpenSession> {
    return new OpenSession(parts, await SessionLog.open(parts, id))
  }

  /** Returns the complete view. Every later change is published. */
  watch(): Promise<HeldView> {
    this.#watched = true
    return this.#views.whole()
  }

  /** The document now; every later change is published. */
  async watchDocument(name: string): Promise<Uint8Array | null> {
    this.#watched = true
    const snapshot = await this.#document(name)
    this.#documents.set(name, snapshot)
    return snapshot
  }

  async view(): Promise<SessionView> {
    const {device, connection} = this.parts
    const stored = await this.#storedParts()
    return buildSessionView({
      device,
      ...stored,
      transcript: handOut(this.#transcriptOf(stored)),
      syncFault: this.#syncFault,
      loop: this.loop.state,
      connection: connection(),
      streaming: this.#streaming,
      erased: this.log.erased,
    })
  }

  /** Made again only when its records change, and with the entries of before, because a streamed text changes neither. */
  #transcriptOf(of: StoredParts): Transcript {
    const {erased} = this.log
    const last = this.#transcript
    if (last?.of === of && last.erased === erased) return last.parts
    const parts = buildTranscript({...of, erased}, last?.parts.entries)
    this.#transcript = {of, erased, parts}
    return parts
  }

  /**
   * The parts of the view that are read from the store. They are read again only after a change, not for each streamed
   * text.
   */
  async #storedParts(): Promise<StoredParts> {
    for (let tries = 1; ; tries++) {
      const {record} = this.log
      const change = this.#storedChange
      if (this.#stored?.change === change && this.#stored.parts.record === record) return this.#stored.parts
      const parts = await this.#readParts(record)
      // If the log moved during the read, the entries could lack what the state already includes.
      if (record !== this.log.record && tries < 5) continue
      this.#stored = {change, parts}
      return parts
    }
  }

  async #readParts(record: SessionRecord): Promise<StoredParts> {
    const {store} = this.parts
    const {id} = this.log
    const {events, earlier} = await store.window(id, screen)
    const {local, setAside} = await this.#local()
    const {divergence, settled} = await this.#divergences()
    const unsent = await store.unsentBlobs(id)
    const blobsOnlyHere = unsent.filter(({noRoom}) => noRoom).length
    return {
      record,
      events,
      earlier,
      local,
      openOperations: await readOpenOperations(store, record),
      setAside,
      divergence,
      settled,
      blobsOnlyHere,
      erasedSource: await erasedSource(store, record),
    }
  }

  /** Why the server takes nothing of this session for good; null once it does. */
  setSyncFault(why: string | null): void {
    if (this.#syncFault === why) return
    this.#syncFault = why
    this.#changed()
  }

  async passport(): Promise<Passport | null> {
    return (await this.view()).passport
  }

  async #local(): Promise<{local: LocalRecords; setAside: number}> {
    const {store} = this.parts
    const {id} = this.log
    const pending = await store.pendingIds(id, limits.pendingEvents)
    const refused = await store.rejected(id)
    const rejected = refused.map(({event, reason}) => ({event: event.id, kind: event.kind, reason}))
    const setAside = refused.filter(({divergence}) => divergence !== null).length
    const from = this.log.state.forkedFrom
    return {local: {pending, rejected, ...(from && {standing: await this.#standingAfter(from)})}, setAside}
  }

  /** Folded again only when a record that it rests on has moved. */
  async #standingAfter(from: {session: SessionId; seq: number}): Promise<StandingEffects> {
    const heads: string[] = []
    const {store} = this.parts
    for (let at: typeof from | null = from; at; ) {
      const record = await store.session(at.session)
      heads.push(`${at.session}:${at.seq}:${record?.confirmed.head ?? 0}`)
      at = record?.current.forkedFrom ?? null
    }
    const key = heads.join()
    if (this.#standing?.key !== key) {
      this.#standing = {key, effects: await effectsAfter(store, from.session, from.seq)}
    }
    return this.#standing.effects
  }

  async #divergences(): Promise<{divergence: Divergence | null; settled: ReadonlySet<EventId>}> {
    const records = await this.parts.store.divergences(this.log.id)
    const key = JSON.stringify(records)
    if (key !== this.#divergence.key) {
      this.#divergence = {key, latest: await latestDivergence(this.parts.store, this.log.id)}
    }
    const settled = new Set(records.flatMap(({id, resolution}) => (resolution ? [id] : [])))
    return {divergence: this.#divergence.latest, settled}
  }

  /** Something outside the session changed: look for work and update the view. */
  look(): void {
    this.#storedChange += 1
    this.loop.wake()
    this.#changed()
  }

  runRef(): {run?: RunId} {
    const run = this.log.state.run?.id
    return run ? {run} : {}
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.loop.close()
    await this.#publishing
  }

  #textChanged(run: RunId, text: string | null): void {
    this.#streaming = text === null ? null : {run, text}
    this.#changed(textPaceMs)
  }

  /** One picture at a time; whatever changes while one is being made makes the next. */
  #changed(paceMs = 0): void {
    if (!this.#watched || this.#closed) return
    this.#stale = true
    this.#publishing ??= this.#publishWhileStale(paceMs).finally(() => {
      this.#publishing = null
      if (this.#stale) this.#changed(textPaceMs)
    })
  }

  async #publishWhileStale(paceMs: number): Promise<void> {
    await new Promise(resolve => setTimeout(resolve, paceMs))
    this.#stale = false
    if (this.#closed) return
    // A picture that cannot be made is no fault of the session: the next change makes another.
    await this.#publish().catch(() => undefined)
  }

  async #publish(): Promise<void> {
    await this.#views.publish()
    const change = this.#storedChange
    if (change === this.#documentsAt) return
    for (const name of this.#documents.keys()) await this.#publishDocument(name)
    this.#documentsAt = change
  }

  async #document(name: string): Promise<Uint8Array | null> {
    const stored = await this.parts.store.document(this.log.id, name)
    return stored && foldDocument(stored)
  }

  async #publishDocument(name: string): Promise<void> {
    const snapshot = await this.#document(name)
    if (this.#closed || !snapshot || sameBytes(snapshot, this.#documents.get(name))) return
    this.#documents.set(name, snapshot)
    this.parts.publisher.publish(`document:${this.log.id}:${name}`, snapshot)
  }
}

async function erasedSource(store: DeviceStore, record: SessionRecord): Promise<ErasedSession | null> {
  let source = record.current.forkedFrom?.session
  while (source) {
    const erased = await store.erased(source)
    if (erased) return erased
    source = (await store.session(source))?.current.forkedFrom?.session
  }
  return null
}

/** A reader of the view in this process may change its list and its passport; the kept ones stay as they are. */
function handOut({entries, earlier, passport}: Transcript): Transcript {
  return {entries: [...entries], earlier, passport: structuredClone(passport)}
}
