import type {Opening, OpeningCause} from '../protocol/opening.ts'
import type {Build} from './build.ts'
import type {Deadlines} from './deadline.ts'
import type {LastOwner} from './last-owner.ts'

/** What a page and its worker say to each other outside the service's own calls. */
export type ToWorker =
  | {
      holdfast: 'init'
      name: string
      config: unknown
      port: MessagePort
      deadlines: Deadlines
      /** Null when the application gives none; the worker then takes the address of its script. */
      build: string | null
      loadedAt: number
      lastOwner: LastOwner | null
    }
  | {holdfast: 'ping'}

export type ToPage =
  /** The worker's script runs and serves; nothing is opened yet. */
  | {holdfast: 'ready'; retry: readonly string[]; worker: string}
  | {holdfast: 'role'; role: Role}
  | {holdfast: 'opening'; opening: Opening}
  /** The worker is about to end; this is what its database had acknowledged and may have lost. */
  | {holdfast: 'rescued'; rescued: unknown}
  /** The database engine is not usable in this worker any more, and the next one may have better luck. */
  | {holdfast: 'spent'; cause: OpeningCause}
  /** Another tab runs a newer build than this page. */
  | {holdfast: 'newer'; build: Build}
  | {holdfast: 'pong'}

export type Role = 'starting' | 'leader' | 'follower'

/** The application may post on the same worker, so anything else that arrives is left alone. */
export function isOurs<Message extends ToWorker | ToPage>(data: unknown): data is Message {
  return typeof data === 'object' && data !== null && 'holdfast' in data
}
