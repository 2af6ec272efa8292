import type {BusyPolicy} from '../protocol/session.ts'
import type {SessionView} from '../protocol/session-view.ts'
import type {ServerLink} from '../sync/server-link.ts'
import type {FakeClock} from './fake-environment.ts'

/**
 * The environment of a scenario. After a crash the scenario starts again from the beginning. Calls that had already
 * completed are skipped; a call that was interrupted is repeated with the same ids.
 */
export interface Scene {
  /** The number of the run, counted from 1. The undisturbed runs come first. */
  readonly run: number
  readonly clock: FakeClock
  /** A link to the server with another token, such as an approver's. */
  link(token: string): ServerLink
  /** One of the person's devices. */
  at(device: string): PersonAt
  /**
   * Runs a step outside of the devices, such as a decision in an inbox. It must be idempotent: it is repeated when a
   * crash interrupts it.
   */
  does<T>(what: string, work: () => Promise<T>): Promise<T>
}

export interface PersonAt {
  /** Opens a new session. `agent` is optional when the test has one agent. */
  open(options?: {agent?: string; policy?: BusyPolicy}): Promise<SceneSession>
  /** Opens a session that this device has or receives soon. */
  session(id: string): SceneSession
  setOnline(online: boolean): Promise<void>
}

/** A session on one device. Each call resolves when its write is durable there. */
export interface SceneSession {
  readonly id: string
  send(text: string, options?: {policy?: BusyPolicy}): Promise<SceneSession>
  cancel(reason?: string): Promise<void>
  retry(): Promise<void>
  takeOver(): Promise<void>
  fork(options: {after: number}): Promise<SceneSession>
  /** Replaces the text of the document. */
  write(document: string, text: string): Promise<void>
  /** Resolves with the first view that matches. Match a state that lasts: a crash may skip a temporary one. */
  until(wanted: (view: SessionView) => boolean): Promise<SessionView>
}
