import {HoldfastError, parse} from '../protocol/errors.ts'
import {type RunId, type SessionId, sessionIdSchema} from '../protocol/ids.ts'
import type {Passport} from '../protocol/passport.ts'
import type {BusyPolicy} from '../protocol/session.ts'
import type {Connection, SessionListItem, SessionView} from '../protocol/session-view.ts'
import {latest} from './latest.ts'
import {createMemory} from './page-memory.ts'
import type {PageParts} from './page-parts.ts'
import {openSharedDocument, type SharedDocument} from './shared-document.ts'

/** One session on this device: a conversation and its runs. */
export interface Session {
  readonly id: SessionId
  /**
   * Resolves when the message is durable on this device; it is not answered then. `policy` says what it does to a run
   * that is active, else the session's own policy does. Resolves with the session that took it: this one, or the branch
   * that the policy `fork` made for it. [RUN-3]
   *
   * @throws HoldfastError `refused` when the policy is `reject` and a run is active
   */
  send(text: string, options?: {policy?: BusyPolicy}): Promise<Session>
  /** Resolves when nothing is left to do here: idle, ended, or waiting for a person, another device or a server out of reach. */
  settled(): Promise<SessionView>
  /** Told the view now and on every change; returns how to stop. */
  subscribe(listener: (view: SessionView) => void): () => void
  /** What run is this, exactly? Null before the first. [ID-5] */
  passport(): Promise<Passport | null>
  /** A new session that inherits the record up to a confirmed event, and nothing that is still open. [RUN-6] */
  fork(options: {after: number}): Promise<Session>
  cancel(reason?: string): Promise<void>
  /** Makes this device the one that advances the run; the holder until now is told and stops. Needs the server. [CUS-3] */
  takeOver(): Promise<void>
  /** A new attempt of a run that failed retryably, from its last confirmed step. [RUN-5] */
  retry(): Promise<void>
  document(name: string): SharedDocument
}

export type SessionTarget = {agent: string; title?: string; policy?: BusyPolicy} | {session: string}

export function createSessions(parts: PageParts) {
  const {service, environment} = parts
  return {
    async openSession(target: SessionTarget): Promise<Session> {
      if ('session' in target) {
        const id = parse(sessionIdSchema, target.session, 'openSession.session')
        await service.openSession(id, null)
        return sessionOf(parts, id)
      }
      const id = environment.id('session')
      await service.openSession(id, {...target, event: environment.id('event')})
      return sessionOf(parts, id)
    },
    subscribeSessions: (listener: (sessions: SessionListItem[]) => void) =>
      latest(parts, 'sessions', () => service.sessions(), listener),
    subscribeConnection: (listener: (connection: Connection) => void) =>
      latest(parts, 'connection', () => service.connection(), listener),
    memory: createMemory(parts),
    passport: (run: RunId) => service.runPassport(run),
    setOnline: (online: boolean) => service.setOnline(online),
  }
}

function sessionOf(parts: PageParts, id: SessionId): Session {
  const {service, environment} = parts
  const subscribe = (listener: (view: SessionView) => void) =>
    latest(parts, `session:${id}`, () => service.view(id), listener)
  const session: Session = {
    id,
    subscribe,
    async send(text, {policy} = {}) {
      const branch = {session: environment.id('session'), event: environment.id('event')}
      const taken = await service.send(id, environment.id('event'), {text, ...(policy && {policy}), branch})
      return taken === id ? session : sessionOf(parts, taken)
    },
    takeOver: () => service.takeOver(id),
    settled: () => firstSettled(subscribe),
    passport: () => service.sessionPassport(id),
    cancel: reason => service.cancel(id, environment.id('event'), reason),
    retry: () => service.retry(id, environment.id('event')),
    document: name => openSharedDocument(parts, id, name),
    async fork({after}) {
      const branch = environment.id('session')
      await service.fork(branch, environment.id('event'), {session: id, seq: after})
      return sessionOf(parts, branch)
    },
  }
  return session
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
