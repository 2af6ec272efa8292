import type {HistoryPage} from '../device/read-history.ts'
import type {RuntimeService, SessionDevice} from '../device/runtime-service.ts'
import {type BlobRef, blobIdSchema} from '../protocol/blob.ts'
import type {Divergence, DivergenceChoice} from '../protocol/divergence.ts'
import {HoldfastError, parse} from '../protocol/errors.ts'
import {
  type CorrelationId,
  deviceIdSchema,
  type EventId,
  eventIdSchema,
  type RunId,
  type SessionId,
  type StepId,
  sessionIdSchema,
} from '../protocol/ids.ts'
import type {Passport} from '../protocol/passport.ts'
import type {BusyPolicy} from '../protocol/session.ts'
import type {Connection, SessionListItem, SessionView} from '../protocol/session-view.ts'
import type {StandingEffects} from '../protocol/standing-effects.ts'
import type {TranscriptEntry} from '../protocol/transcript.ts'
import {flushEdits} from './edit-outbox.ts'
import {latest} from './latest.ts'
import {createMemory} from './page-memory.ts'
import type {PageParts} from './page-parts.ts'
import {openSharedDocument, type SharedDocument} from './shared-document.ts'
import {watchSession} from './watch-session.ts'

/** One session on this device: a conversation and its runs. */
export interface Session {
  readonly id: SessionId
  /**
   * Resolves when the message is durable on this device; it is not answered then. `policy` says what it does to a run
   * that is active, else the session's own policy does. Resolves with the session that took it: this one, or the branch
   * that the policy `fork` made for it. A run that it starts is pinned to `correlation`, else to one of its own. [RUN-3]
   * Sent again with the same `id`, of `newEventId()`, a message whose outcome is unknown is stored once. [LOG-3]
   *
   * @throws HoldfastError `refused` when the policy is `reject` and a run is active
   */
  send(text: string, options?: {policy?: BusyPolicy; correlation?: CorrelationId; id?: string}): Promise<Session>
  /** Resolves when nothing is left to do here: idle, ended, or waiting for a person, another device or a server out of reach. */
  settled(): Promise<SessionView>
  /** Told the view now and on every change; returns how to stop. */
  subscribe(listener: (view: SessionView) => void): () => void
  /**
   * Entries before those of the view: at most `limit` (default 50, at most 200), oldest first, before the entry with the id
   * `before`. Reads this device's log, so it works offline and costs the same however long the conversation is.
   *
   * @throws HoldfastError `not_found` for an entry of another session, `bad_input`
   * @example
   * const {entries, earlier} = await session.history({before: view.entries[0].id})
   */
  history(options: {before: string; limit?: number}): Promise<HistoryPage>
  /**
   * All entries of one event, uncut; those of a view hold the first 16,000 characters of a longer text and say so as `cut`.
   *
   * @throws HoldfastError `not_found` for an entry of another session, `bad_input`
   */
  entry(id: string): Promise<TranscriptEntry[]>
  /** What run is this, exactly? Null before the first. [ID-5] */
  passport(): Promise<Passport | null>
  /** A new session that inherits the record up to a confirmed event, and nothing that is still open. [RUN-6] */
  fork(options: {after: number}): Promise<Branch>
  /** The external effects after an event, which a branch there would not undo. [RUN-6] */
  effectsAfter(after: number): Promise<StandingEffects>
  cancel(reason?: string): Promise<void>
  /** Makes this device the one that advances the run; the holder until now is told and stops. Needs the server. [CUS-3] */
  takeOver(): Promise<void>
  /**
   * Goes on here although the server cannot be reached. It counts once the server has taken it; if another device has
   * worked meanwhile, what is done here becomes a divergence. [CUS-4]
   *
   * @throws HoldfastError `refused` while the server can be reached
   */
  continueOffline(): Promise<void>
  /** Hands the run to another device, one of `devices()`. Needs the server. [CUS-3] */
  handOver(device: string): Promise<void>
  /** The devices that have written in this session. */
  devices(): Promise<SessionDevice[]>
  /** Work of this device that custody had moved on from, the latest; also in every view. [CUS-4] */
  divergence(): Promise<Divergence | null>
  /**
   * `keep` makes a branch of it, `merge` tells the conversation about it in one message, `discard` puts it out of the way.
   * Resolves with the session to look at: the branch, or this one.
   *
   * @throws HoldfastError `not_found` when there is none, `refused` when something else was chosen before
   */
  resolveDivergence(choice: DivergenceChoice): Promise<Session>
  /** Takes a discard back. */
  restoreDivergence(): Promise<void>
  /** A new attempt of a run that failed retryably, from its last confirmed step. [RUN-5] */
  retry(): Promise<void>
  /** One more budget for a run that was stopped at a bound. [BUD-2] */
  extend(): Promise<void>
  /**
   * Moves the run to another version of its agent that this build has; calls already executed are untouched. [PIN-3]
   *
   * @throws HoldfastError `refused` naming every open call that the version cannot carry on
   */
  migrate(to: {version: string; reason?: string}): Promise<void>
  /** No message and no run after this: what is open and has not started is void. */
  close(reason?: string): Promise<void>
  document(name: string): SharedDocument
  /**
   * The bytes of a blob, by the reference in a tool's result or by its id: from this device, else from the server, and
   * then they are here. They are always those that the id names. [LOG-5]
   *
   * @throws HoldfastError `not_found`, `offline` when only the server could have it, `budget_exhausted` when the server
   * had no room for it and another device made it
   * @example
   * const [image] = entry.result?.blobs ?? []
   * if (image) show(new Blob([await session.blob(image)], {type: image.type}))
   */
  blob(blob: Pick<BlobRef, '$blob'> | string): Promise<Uint8Array<ArrayBuffer>>
}

/** A session that branched off another, with the effects that it does not undo. */
export type Branch = Session & {readonly standing: StandingEffects}

/** `id`, of `newSessionId()`, makes opening a session idempotent: asked for again, the same one is there. */
export type SessionTarget = {agent: string; title?: string; policy?: BusyPolicy; id?: string} | {session: string}

export function createSessions(parts: PageParts) {
  const {service, environment} = parts
  const openedBy = new Map<SessionId, EventId>()
  return {
    async openSession(target: SessionTarget): Promise<Session> {
      if ('session' in target) {
        const id = parse(sessionIdSchema, target.session, 'openSession.session')
        await service.openSession(id, null)
        return sessionOf(parts, id)
      }
      const {id: given, ...how} = target
      const id = given === undefined ? environment.id('session') : parse(sessionIdSchema, given, 'openSession.id')
      const event = openedBy.get(id) ?? environment.id('event')
      openedBy.set(id, event)
      await service.openSession(id, {...how, event})
      openedBy.delete(id)
      return sessionOf(parts, id)
    },
    subscribeSessions: (listener: (sessions: SessionListItem[]) => void) =>
      latest(parts, 'sessions', () => service.sessions(), listener),
    subscribeConnection: (listener: (connection: Connection) => void) =>
      latest(parts, 'connection', () => service.connection(), listener),
    memory: createMemory(parts),
    passport: (run: RunId) => service.runPassport(run),
    exportRun: (run: RunId) => service.exportRun(run),
    viewOf: (run: RunId, step: StepId) => service.viewOf(run, step),
    setOnline: (online: boolean) => service.setOnline(online),
  }
}

function sessionOf(parts: PageParts, id: SessionId): Session {
  const {service, environment} = parts
  const subscribe = (listener: (view: SessionView) => void) => watchSession(parts, id, listener)
  const session: Session = {
    id,
    subscribe,
    async send(text, {policy, correlation, id: given} = {}) {
      const branch = {session: environment.id('session'), event: environment.id('event')}
      const event = given === undefined ? environment.id('event') : parse(eventIdSchema, given, 'send.id')
      await flushEdits(parts.edits, id)
      const taken = await service.send(id, event, {
        text,
        ...(policy && {policy}),
        ...(correlation && {correlation}),
        branch,
      })
      return taken === id ? session : sessionOf(parts, taken)
    },
    takeOver: () => service.takeOver(id),
    settled: () => firstSettled(subscribe),
    history: options => service.history(id, options),
    entry: entry => service.entry(id, entry),
    passport: () => service.sessionPassport(id),
    cancel: reason => service.cancel(id, environment.id('event'), reason),
    retry: () => service.retry(id, environment.id('event')),
    extend: () => service.extend(id, environment.id('event')),
    migrate: ({version, reason = 'Moved by a person.'}) =>
      service.migrate(id, environment.id('event'), {version, reason}),
    close: reason => service.close(id, environment.id('event'), reason),
    document: name => openSharedDocument(parts, id, name),
    async blob(blob) {
      const named = typeof blob === 'string' ? blob : blob.$blob
      return new Uint8Array(await service.blob(id, parse(blobIdSchema, named, 'blob')))
    },
    async fork({after}) {
      const branch = environment.id('session')
      await service.fork(branch, environment.id('event'), {session: id, seq: after})
      const standing = await service.effectsAfter(id, after)
      return {...sessionOf(parts, branch), standing}
    },
    effectsAfter: after => service.effectsAfter(id, after),
    continueOffline: () => service.continueOffline(id, environment.id('event')),
    handOver: device => service.handOver(id, parse(deviceIdSchema, device, 'handOver.device')),
    devices: () => service.devices(id),
    divergence: async () => (await service.view(id)).divergence,
    async resolveDivergence(choice) {
      const {id: divergence} = await latestDivergence(service, id)
      const ids = {event: environment.id('event'), fork: environment.id('session')}
      const there = await service.settleDivergence(id, {divergence, choice, ...ids})
      return there === id ? session : sessionOf(parts, there)
    },
    restoreDivergence: async () => service.restoreDivergence(id, (await latestDivergence(service, id)).id),
  }
  return session
}

async function latestDivergence(service: RuntimeService, id: SessionId): Promise<Divergence> {
  const {divergence} = await service.view(id)
  if (divergence) return divergence
  throw new HoldfastError('not_found', `session ${id}: no work of this device was set aside`)
}

function firstSettled(subscribe: (listener: (view: SessionView) => void) => () => void): Promise<SessionView> {
  return new Promise((resolve, reject) => {
    const stop = subscribe(view => {
      if (view.storageFault) reject(new HoldfastError('not_durable', view.storageFault))
      else if (view.settled) resolve(view)
      else return
      // The first view may come before `subscribe` has returned.
      queueMicrotask(() => stop())
    })
  })
}
