import type {Opening, OpeningCause} from '../protocol/opening.ts'
import type {Build} from './build.ts'
import type {Deadlines} from './deadline.ts'
import type {LastOwner} from './last-owner.ts'

/** Control messages between a page and its worker, apart from the service's calls. */
export type ToWorker =
  | {
      holdfast: 'init'
      name: string
      config: unknown
      port: MessagePort
      deadlines: Deadlines
      /** Null when the application sets none; the worker then uses the URL of its script. */
      build: string | null
      loadedAt: number
      lastOwner: LastOwner | null
    }
  | {holdfast: 'ping'}

export type ToPage =
  /** The worker's script runs and accepts calls. The database is not open yet. */
  | {holdfast: 'ready'; retry: readonly string[]; worker: string}
  | {holdfast: 'role'; role: Role}
  | {holdfast: 'opening'; opening: Opening}
  /** The worker is about to terminate. `rescued` holds acknowledged writes that its database may have lost. */
  | {holdfast: 'rescued'; rescued: unknown}
  /** The database engine is unusable in this worker. The page starts a new worker. */
  | {holdfast: 'spent'; cause: OpeningCause}
  /** Another tab runs a newer build than this page. */
  | {holdfast: 'newer'; build: Build}
  | {holdfast: 'pong'}

export type Role = 'starting' | 'leader' | 'follower'

/** True for messages of this module. The application may post its own messages to the same worker. */
export function isOurs<Message extends ToWorker | ToPage>(data: unknown): data is Message {
  return typeof data === 'object' && data !== null && 'holdfast' in data
}
