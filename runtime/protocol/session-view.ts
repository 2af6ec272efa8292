import type {Divergence} from './divergence.ts'
import type {RunId, SessionId} from './ids.ts'
import type {OpenOperation} from './open-operations.ts'
import type {Passport} from './passport.ts'
import type {RunStatus} from './run.ts'
import type {TranscriptEntry} from './transcript.ts'

/**
 * Whether this device reaches the server, and if not, why: cut by the user, unreachable, or not let in. `polling`: it
 * does, but something on the way holds live updates back, so news comes some seconds late. [SYNC-8]
 */
export type Connection = {
  state: 'live' | 'polling' | 'connecting' | 'cut' | 'unreachable' | 'unauthenticated' | 'local_only'
  /** One sentence for a person; empty when live. */
  detail: string
}

/** What the page renders of one session; a new immutable value on every change. */
export type SessionView = {
  session: SessionId
  agent: string
  title: string | null
  /** The last entries, oldest first; `earlier` says that there are more above. */
  entries: TranscriptEntry[]
  earlier: boolean
  /** Text of the reply being generated now: never stored, gone with the connection. */
  streaming: {run: RunId; text: string} | null
  status: RunStatus | 'idle'
  /** What the session waits for, in one sentence; null while it works or is idle. */
  waitingFor: string | null
  /** Nothing is left to do here: idle, ended, or waiting for a person, another device or a server out of reach. */
  settled: boolean
  /** This device holds custody, so its loop advances the run. */
  custody: 'here' | 'elsewhere' | 'nobody'
  passport: Passport | null
  /** External effects that have not ended, oldest first, also those proposed above `entries`. */
  openOperations: OpenOperation[]
  /** Where the closing of the session is safe: only on this device, or with the server too; null while it is open. */
  closed: 'device' | 'server' | null
  /** Events that the server does not have yet. */
  pending: number
  /** Blobs that the server had no room for, so that only this device has them. */
  blobsOnlyHere: number
  /** Events that the server refused, without those that `divergence` tells of. */
  rejected: number
  /** The latest work of this device that custody had moved on from, and what was chosen about it. [CUS-4] */
  divergence: Divergence | null
  /** Why the server takes nothing of this session for good, or null. */
  syncFault: string | null
  head: number
  /** The write that could not be made durable, or null. */
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
