import type {Divergence} from './divergence.ts'
import type {ErrorCode} from './errors.ts'
import type {RunId, SessionId} from './ids.ts'
import type {OpenOperation} from './open-operations.ts'
import type {Passport} from './passport.ts'
import type {RunStatus} from './run.ts'
import type {TranscriptEntry} from './transcript.ts'

/**
 * Whether this device reaches the server, and if not, why: disconnected by the user, unreachable, or not authenticated.
 * `polling`: the server is reached, but something in between delays live updates, so changes arrive some seconds late.
 * [SYNC-8]
 */
export type Connection = {
  state: 'live' | 'polling' | 'connecting' | 'cut' | 'unreachable' | 'unauthenticated' | 'local_only'
  /** One sentence for a person; empty when live. */
  detail: string
  /** True when something else answered in place of the server, such as a login page or a proxy. */
  intercepted?: boolean
}

/** What the page renders of one session; a new immutable value on every change. */
export type SessionView = {
  session: SessionId
  agent: string
  title: string | null
  /** The latest entries, oldest first. `earlier`: there are more before them. */
  entries: TranscriptEntry[]
  earlier: boolean
  /** Text of the reply that is being generated. Never stored; lost with the connection. */
  streaming: {run: RunId; text: string} | null
  status: RunStatus | 'idle'
  /** What the session waits for, in one sentence; null while it works or is idle. */
  waitingFor: string | null
  /**
   * Nothing is left to do on this device: idle, ended, or waiting for a person, another device or an unreachable
   * server.
   */
  settled: boolean
  /** This device holds custody, so its loop advances the run. */
  custody: 'here' | 'elsewhere' | 'nobody'
  passport: Passport | null
  /** External effects that have not ended, oldest first, including those proposed before `entries`. */
  openOperations: OpenOperation[]
  /** Where the closing of the session is stored: only on this device, or on the server too; null while it is open. */
  closed: 'device' | 'server' | null
  /** Events that the server does not have yet. */
  pending: number
  /** Blobs that the server had no room for, so that only this device has them. */
  blobsOnlyHere: number
  /** Events that the server refused, except those of `divergence`. */
  rejected: number
  /** The latest work of this device under an epoch that had moved, and the person's choice about it. [CUS-4] */
  divergence: Divergence | null
  /** Why the server permanently refuses this session, or null. */
  syncFault: string | null
  head: number
  /**
   * Why the agent cannot continue here although nothing is waited for: a next step failed and the failure could not be
   * recorded in the session. Null otherwise. The step is tried again after the next change.
   */
  fault: {code: ErrorCode; message: string} | null
  /** The message of `fault` if a write could not be made durable, or null. */
  storageFault: string | null
  /** The session was erased: nothing of it is left here, and nothing can be added. */
  erased: Erased | null
}

export type Erased = {at: number; why: 'requested' | 'retention'; unsent: number}

export type SessionListItem = {
  id: SessionId
  agent: string
  title: string | null
  /** First words of the latest message. */
  excerpt: string
  updatedAt: number
  pending: number
  status: SessionView['status']
  erased: Erased | null
}
