import type {RunId, SessionId} from './protocol/ids.ts'
import type {Passport} from './protocol/passport.ts'
import type {Connection, SessionListItem, SessionView} from './protocol/session-view.ts'

/** One session on this device: a conversation and its runs. */
export interface Session {
  readonly id: SessionId
  /** Resolves when the message is durable on this device; it is not answered then. */
  send(text: string): Promise<void>
  /** Resolves when nothing is left to do here: idle, failed, cancelled, or waiting for a person or the server. */
  settled(): Promise<SessionView>
  subscribe(listener: (view: SessionView) => void): () => void
  passport(): Promise<Passport | null>
  fork(options: {after: number}): Promise<Session>
  cancel(reason?: string): Promise<void>
  retry(): Promise<void>
  document(name: string): SharedDocument
}

export interface SharedDocument {
  subscribe(listener: (text: string) => void): () => void
  /** Replaces the text by the smallest edit, so that concurrent edits merge. */
  edit(text: string): Promise<void>
}

export interface Runtime {
  openSession(options: {agent: string; title?: string} | {session: SessionId}): Promise<Session>
  /** The device's sessions, latest first. */
  subscribeSessions(listener: (sessions: SessionListItem[]) => void): () => void
  passport(run: RunId): Promise<Passport | null>
  /** `false` cuts the connection for real: every request and stream ends and none starts. */
  setOnline(online: boolean): Promise<void>
  subscribeConnection(listener: (connection: Connection) => void): () => void
  /** 'leader' owns the database; 'follower' goes through another tab. */
  subscribeRole(listener: (role: 'starting' | 'leader' | 'follower') => void): () => void
  /** Terminates the worker at once, as a crash would, and starts another. */
  killWorker(): void
  close(): Promise<void>
}
