import type {BusyPolicy} from '../protocol/session.ts'
import type {SessionView} from '../protocol/session-view.ts'
import type {ServerLink} from '../sync/server-link.ts'
import type {FakeClock} from './fake-environment.ts'

/**
 * What a scenario is played in. A scenario is one person's story, told from the start again after every crash; what the
 * person had already seen done is remembered and not done again, and what was cut off is done again under the same ids.
 */
export interface Scene {
  /** Counts from one; the undisturbed runs come first. */
  readonly run: number
  readonly clock: FakeClock
  /** The server as somebody else reaches it, say an approver with a token of their own. */
  link(token: string): ServerLink
  /** The person at one of their devices. */
  at(device: string): PersonAt
  /**
   * Anything that happens elsewhere, like a decision in an inbox. Cut off by a crash it is done again, so doing it twice
   * must equal doing it once.
   */
  does<T>(what: string, work: () => Promise<T>): Promise<T>
}

export interface PersonAt {
  /** A new session; the agent's name may be left out when the test has one agent. */
  open(options?: {agent?: string; policy?: BusyPolicy}): Promise<SceneSession>
  /** A session that this device has or is about to get. */
  session(id: string): SceneSession
  setOnline(online: boolean): Promise<void>
}

/** A session as its person has it on one device; each call ends when it is durable there. */
export interface SceneSession {
  readonly id: string
  send(text: string, options?: {policy?: BusyPolicy}): Promise<SceneSession>
  cancel(reason?: string): Promise<void>
  retry(): Promise<void>
  takeOver(): Promise<void>
  fork(options: {after: number}): Promise<SceneSession>
  /** Makes the document read so. */
  write(document: string, text: string): Promise<void>
  /** The first view that is as wanted. Name what no later view takes back, or a crash may step over it. */
  until(wanted: (view: SessionView) => boolean): Promise<SessionView>
}
