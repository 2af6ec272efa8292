import type {HistoryPage} from '../device/read-history.ts'
import type {RuntimeService, SessionDevice} from '../device/runtime-service.ts'
import {type BlobRef, blobIdSchema} from '../protocol/blob.ts'
import type {Divergence, DivergenceChoice} from '../protocol/divergence.ts'
import {documentNameSchema} from '../protocol/document.ts'
import {HoldfastError, parse} from '../protocol/errors.ts'
import {
  type CorrelationId,
  deviceIdSchema,
  type EventId,
  eventIdSchema,
  type RunId,
  runIdSchema,
  type SessionId,
  type StepId,
  stepIdSchema,
} from '../protocol/ids.ts'
import {messageText} from '../protocol/message-text.ts'
import type {Passport} from '../protocol/passport.ts'
import type {BusyPolicy} from '../protocol/session.ts'
import type {Connection, SessionListItem, SessionView} from '../protocol/session-view.ts'
import type {StandingEffects} from '../protocol/standing-effects.ts'
import type {TranscriptEntry} from '../protocol/transcript.ts'
import {flushEdits} from './edit-outbox.ts'
import {latest} from './latest.ts'
import {listenerOf} from './listener-argument.ts'
import {createMemory} from './page-memory.ts'
import type {PageParts} from './page-parts.ts'
import {
  divergenceChoice,
  forkOptions,
  historyOptions,
  knownSession,
  migration,
  newSession,
  onlineState,
  position,
  reasonText,
  sendOptions,
} from './session-arguments.ts'
import {openSharedDocument, type SharedDocument} from './shared-document.ts'
import {watchSession} from './watch-session.ts'

/** One session on this device: a conversation and its runs. */
export interface Session {
  readonly id: SessionId
  /**
   * Posts a message. Resolves when it is durable on this device, before it is answered, with the session that took it:
   * this one, or the branch that the policy `fork` created. `policy` decides what the message does to an active run.
   * Default: the session's policy. `correlation` is pinned to the run that the message starts. Default: a new id.
   * [RUN-3]
   *
   * When the outcome is unknown, send again with the same `id` (from `newEventId()`): the message is stored once.
   * [LOG-3]
   *
   * @throws HoldfastError `refused` when the policy is `reject` and a run is active
   */
  send(text: string, options?: {policy?: BusyPolicy; correlation?: CorrelationId; id?: string}): Promise<Session>
  /**
   * Resolves when nothing is left to do on this device: idle, ended, or waiting for a person, another device or an
   * unreachable server.
   *
   * @throws HoldfastError the view's `fault` when the agent cannot continue: `not_durable` only if storage failed
   */
  settled(): Promise<SessionView>
  /** Calls `listener` with the current view and after every change. Returns an unsubscribe function. */
  subscribe(listener: (view: SessionView) => void): () => void
  /**
   * Returns entries before the entry `before`, oldest first, at most `limit` (default 50, maximum 200). Reads this
   * device's log, so it works offline, and its cost does not depend on the length of the conversation.
   *
   * @throws HoldfastError `not_found` for an entry of another session, `bad_input`
   * @example const {entries, earlier} = await session.history({before: view.entries[0].id})
   */
  history(options: {before: string; limit?: number}): Promise<HistoryPage>
  /**
   * Returns all entries of one event with their complete texts. In a view, texts are cut at 16,000 characters and `cut`
   * has their length.
   *
   * @throws HoldfastError `not_found` for an entry of another session, `bad_input`
   */
  entry(id: string): Promise<TranscriptEntry[]>
  /** Returns the passport of the current run; null before the first run. [ID-5] */
  passport(): Promise<Passport | null>
  /** Creates a session that inherits the record up to a confirmed event, and nothing that is still open. [RUN-6] */
  fork(options: {after: number}): Promise<Branch>
  /** Returns the external effects after an event, which a branch at that event would not undo. [RUN-6] */
  effectsAfter(after: number): Promise<StandingEffects>
  cancel(reason?: string): Promise<void>
  /** Takes custody: this device advances the run, and the previous holder stops. Needs the server. [CUS-3] */
  takeOver(): Promise<void>
  /**
   * Continues on this device although the server cannot be reached. The work counts once the server accepts it. If
   * another device has worked in between, it becomes a divergence. [CUS-4]
   *
   * @throws HoldfastError `refused` while the server can be reached
   */
  continueOffline(): Promise<void>
  /** Hands custody to another device, one of `devices()`. Needs the server. [CUS-3] */
  handOver(device: string): Promise<void>
  /** The devices that have written in this session. */
  devices(): Promise<SessionDevice[]>
  /** The latest work of this device under an epoch that had moved; also in every view. [CUS-4] */
  divergence(): Promise<Divergence | null>
  /**
   * Resolves a divergence. `keep` makes it a branch, `merge` describes it to the conversation in one message, `discard`
   * hides it. Resolves with the session to show: the branch, or this one.
   *
   * @throws HoldfastError `not_found` when there is none, `refused` after another choice
   */
  resolveDivergence(choice: DivergenceChoice): Promise<Session>
  /** Undoes a discard. */
  restoreDivergence(): Promise<void>
  /** Starts a new attempt of a run that failed retryably, from its last confirmed step. [RUN-5] */
  retry(): Promise<void>
  /** Grants one more budget to a run that was stopped at a bound. [BUD-2] */
  extend(): Promise<void>
  /**
   * Moves the run to another version of its agent that this build has. Calls that were executed are not affected.
   * [PIN-3]
   *
   * @throws HoldfastError `refused` naming every open call that the version cannot complete
   */
  migrate(to: {version: string; reason?: string}): Promise<void>
  /** Closes the session: no message and no run can follow. What is open and has not started becomes void. */
  close(reason?: string): Promise<void>
  /** @throws HoldfastError `bad_input` for a name that is none, like "Draft 1" */
  document(name: string): SharedDocument
  /**
   * Returns the bytes of a blob, given the reference in a tool's result or its id. They are read from this device, or
   * downloaded from the server and stored here. Their hash is always verified. [LOG-5]
   *
   * @throws HoldfastError `not_found`, `offline` when only the server may have it, `budget_exhausted` when another device made it and the server had no room for it
   * @example const [image] = entry.result?.blobs ?? [] if (image) show(new Blob([await session.blob(image)], {type: image.type}))
   */
  blob(blob: Pick<BlobRef, '$blob'> | string): Promise<Uint8Array<ArrayBuffer>>
}

/** A branch of another session, with the external effects that it does not undo. */
export type Branch = Session & {readonly standing: StandingEffects}

/** With an `id` (from `newSessionId()`), opening a session is idempotent. */
export type SessionTarget = {agent: string; title?: string; policy?: BusyPolicy; id?: string} | {session: string}

export function createSessions(parts: PageParts) {
  const {service, environment} = parts
  const openedBy = new Map<SessionId, EventId>()
  return {
    async openSession(target: SessionTarget): Promise<Session> {
      if (typeof target === 'object' && target !== null && 'session' in target) {
        const {session} = parse(knownSession, target, 'openSession')
        await service.openSession(session, null)
        return sessionOf(parts, session)
      }
      const {id = environment.id('session'), ...how} = parse(newSession, target, 'openSession')
      const event = openedBy.get(id) ?? environment.id('event')
      openedBy.set(id, event)
      await service.openSession(id, {...how, event})
      openedBy.delete(id)
      return sessionOf(parts, id)
    },
    subscribeSessions: (listener: (sessions: SessionListItem[]) => void) =>
      latest(parts, 'sessions', () => service.sessions(), listenerOf(listener, 'subscribeSessions')),
    subscribeConnection: (listener: (connection: Connection) => void) =>
      latest(parts, 'connection', () => service.connection(), listenerOf(listener, 'subscribeConnection')),
    memory: createMemory(parts),
    passport: async (run: RunId) => service.runPassport(parse(runIdSchema, run, 'passport.run')),
    exportRun: async (run: RunId) => service.exportRun(parse(runIdSchema, run, 'exportRun.run')),
    viewOf: async (run: RunId, step: StepId) =>
      service.viewOf(parse(runIdSchema, run, 'viewOf.run'), parse(stepIdSchema, step, 'viewOf.step')),
    setOnline: async (online: boolean) => service.setOnline(parse(onlineState, online, 'setOnline')),
  }
}

function sessionOf(parts: PageParts, id: SessionId): Session {
  const {service, environment} = parts
  const subscribe = (listener: (view: SessionView) => void) =>
    watchSession(parts, id, listenerOf(listener, 'subscribe'))
  const session: Session = {
    id,
    subscribe,
    async send(given, options) {
      const text = messageText(given)
      const {policy, correlation, id: event = environment.id('event')} = parse(sendOptions, options, 'send')
      const branch = {session: environment.id('session'), event: environment.id('event')}
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
    history: async options => service.history(id, parse(historyOptions, options, 'history')),
    entry: async entry => service.entry(id, parse(eventIdSchema, entry, 'entry')),
    passport: () => service.sessionPassport(id),
    cancel: async reason => service.cancel(id, environment.id('event'), parse(reasonText, reason, 'cancel.reason')),
    retry: () => service.retry(id, environment.id('event')),
    extend: () => service.extend(id, environment.id('event')),
    migrate: async to => service.migrate(id, environment.id('event'), parse(migration, to, 'migrate')),
    close: async reason => service.close(id, environment.id('event'), parse(reasonText, reason, 'close.reason')),
    document: name => openSharedDocument(parts, id, parse(documentNameSchema, name, 'document')),
    async blob(blob) {
      const named = typeof blob === 'object' && blob !== null ? blob.$blob : blob
      return new Uint8Array(await service.blob(id, parse(blobIdSchema, named, 'blob')))
    },
    async fork(options) {
      const {after} = parse(forkOptions, options, 'fork')
      const branch = environment.id('session')
      await service.fork(branch, environment.id('event'), {session: id, seq: after})
      const standing = await service.effectsAfter(id, after)
      return {...sessionOf(parts, branch), standing}
    },
    effectsAfter: async after => service.effectsAfter(id, parse(position, after, 'effectsAfter')),
    continueOffline: () => service.continueOffline(id, environment.id('event')),
    handOver: async device => service.handOver(id, parse(deviceIdSchema, device, 'handOver.device')),
    devices: () => service.devices(id),
    divergence: async () => (await service.view(id)).divergence,
    async resolveDivergence(given) {
      const choice = parse(divergenceChoice, given, 'resolveDivergence')
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
      if (!view.settled) return
      if (view.fault) reject(new HoldfastError(view.fault.code, view.fault.message))
      else resolve(view)
      // The first view may come before `subscribe` has returned.
      queueMicrotask(() => stop())
    })
  })
}
