import {foldDocument} from '../documents/shared-text.ts'
import type {LoopParts} from '../loop/perform-step.ts'
import {RunLoop} from '../loop/run-loop.ts'
import type {RunId, SessionId} from '../protocol/ids.ts'
import type {Connection, SessionView} from '../protocol/session-view.ts'
import {limits} from '../protocol/version.ts'
import type {Projection} from '../storage/device-store.ts'
import {SessionLog} from '../storage/session-log.ts'
import {buildSessionView, screenEvents} from './build-view.ts'
import type {Publisher} from './runtime-service.ts'

export type OpenSessionParts = Omit<LoopParts, 'log' | 'onText'> & {
  projections: readonly Projection[]
  publisher: Publisher
  connection(): Connection
}

/** Milliseconds between two pictures of streamed text: faster than anybody reads, slower than tokens come. */
const textPaceMs = 40

/** One session at work: its log, its loop, and its picture for whoever watches. */
export class OpenSession {
  #watched = false
  #streaming: {run: RunId; text: string} | null = null
  #publishing: Promise<void> | null = null
  #stale = false
  #closed = false
  readonly #documents = new Map<string, Uint8Array | null>()
  readonly loop: RunLoop

  private constructor(
    private readonly parts: OpenSessionParts,
    readonly log: SessionLog,
  ) {
    this.loop = new RunLoop({...parts, log, onText: (run, text) => this.#textChanged(run, text)})
    this.loop.onChange(() => this.#changed())
    log.onChange(() => this.#changed())
  }

  static async open(parts: OpenSessionParts, id: SessionId): Promise<OpenSession> {
    return new OpenSession(parts, await SessionLog.open(parts, id))
  }

  /** The view now; every later change is published. */
  watch(): Promise<SessionView> {
    this.#watched = true
    return this.view()
  }

  /** The document now; every later change is published. */
  async watchDocument(name: string): Promise<Uint8Array | null> {
    this.#watched = true
    const snapshot = await this.#document(name)
    this.#documents.set(name, snapshot)
    return snapshot
  }

  async view(): Promise<SessionView> {
    const {device, connection, store} = this.parts
    const {log, loop} = this
    for (let tries = 1; ; tries++) {
      const {record} = log
      const events = await log.read(screenEvents)
      const pending = (await store.pending(log.id, limits.pendingEvents)).map(({id}) => id)
      const rejected = (await store.rejected(log.id)).map(({event, reason}) => ({
        event: event.id,
        kind: event.kind,
        reason,
      }))
      // Read while the log moved on, the entries could lack what the state already counts as done.
      if (record !== log.record && tries < 5) continue
      return buildSessionView({
        device,
        record,
        events,
        pending,
        rejected,
        loop: loop.state,
        connection: connection(),
        streaming: this.#streaming,
      })
    }
  }

  /** Something outside changed: look again for work, and show what it means. */
  look(): void {
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
    const view = await this.view()
    if (this.#closed) return
    this.parts.publisher.publish(`session:${this.log.id}`, view)
    for (const name of this.#documents.keys()) await this.#publishDocument(name)
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

function sameBytes(a: Uint8Array, b: Uint8Array | null | undefined): boolean {
  return !!b && a.length === b.length && a.every((byte, i) => byte === b[i])
}
