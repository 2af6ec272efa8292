import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {ModelCallName} from '../../runtime/protocol/model-call.ts'
import type {Owner} from '../principal.ts'

/** A call belongs to its subject: under the same key another subject has another call, or none. [ID-4] */
export type ModelCallRef = Owner & {key: string}

/** `open` while a process generates; `lost` when that process went away in the middle, or had to. */
export type ModelCallStatus = 'open' | 'done' | 'failed' | 'aborted' | 'lost'

/** Tokens and millionths of the currency that prices are in; `estimated` when the provider did not say. */
export type Spent = {inputTokens: number; outputTokens: number; costMicros: number; estimated: boolean}

export type NewModelCall = {
  ref: ModelCallRef
  /** Null for a call that no run made. */
  name: ModelCallName | null
  model: string
  /** Of everything that was asked: the same key for another request is refused. */
  requestHash: string
  /** The process that generates; its lease says until when it is believed to live. */
  owner: string
  leaseUntil: number
  at: number
  /** What the call costs at least; counted at once, so that calls side by side see each other. */
  spent: Spent
}

export type ModelCallRow = {
  key: string
  name: ModelCallName | null
  model: string
  requestHash: string
  status: ModelCallStatus
  leaseUntil: number
  startedAt: number
  endedAt: number | null
  /** Parts generated so far, also after the parts themselves are gone. */
  parts: number
  spent: Spent
}

/** A bound on what a tenant may use within the last `windowMs`; null for no bound. */
export type SpendingLimit = {windowMs: number; tokens: number | null; costMicros: number | null}
export type Exhausted = SpendingLimit & {usedTokens: number; usedCostMicros: number; retryAfterMs: number}

export type Claim =
  | {status: 'won'}
  | {status: 'taken'; call: ModelCallRow}
  /** Nothing was recorded: no provider may be asked. */
  | {status: 'exhausted'; limit: Exhausted}

export type CallEnd = {status: Exclude<ModelCallStatus, 'open'>; spent: Spent; at: number}

/** Every call of a model that was ever begun, with what it cost; never with a word of what was said. [BUD-1, OBS-3] */
export interface ModelCallBook {
  /**
   * Compare and set, in one transaction with the limits: of any number of claims of one key, in any number of
   * processes, exactly one wins, and only that one may ask the provider.
   */
  claim(call: NewModelCall, limits: readonly SpendingLimit[]): Promise<Claim>
  /** Ends an open call with its last parts; false when it is no longer open or another process owns it. */
  settle(ref: ModelCallRef, owner: string, end: CallEnd, last: PartChunk): Promise<boolean>
  /** Ends calls whose lease passed before `now` as lost, with a last part that says so; returns how many. */
  expire(now: number, limit: number): Promise<number>
  get(ref: ModelCallRef): Promise<ModelCallRow | null>
  /** The calls of one run, oldest first. */
  ofRun(owner: Owner, run: string): Promise<ModelCallRow[]>
  /** Sums over a tenant, or over one of its subjects, by model; `from` and `to` in ms, `to` excluded. */
  totals(query: UsageQuery): Promise<ModelUsage[]>
}

export type UsageQuery = {tenant: TenantId; subject: SubjectId | null; from: number; to: number}
export type ModelUsage = {
  model: string
  calls: number
  /** Calls whose tokens are our own estimate. */
  estimated: number
  inputTokens: number
  outputTokens: number
  costMicros: number
}

/** Parts of one generation, numbered from `first`. */
export type PartChunk = {first: number; parts: readonly Json[]}
export type NumberedPart = {n: number; part: Json}

/**
 * The words of a generation, kept so that a reader who lost its connection goes on at its offset. Bounded by the
 * writer, and for a time only: this is the connection's memory, the transcript is elsewhere. [RET-1]
 */
export interface TokenStore {
  /**
   * Adds parts and renews the lease; null, and nothing is added, when the call is no longer open or another process owns
   * it: then the writer stops. Else until when somebody follows the stream from another process.
   */
  append(
    ref: ModelCallRef,
    owner: string,
    chunk: PartChunk,
    progress: {leaseUntil: number; spent: Spent},
  ): Promise<{followedUntil: number} | null>
  /** Parts after `after`, oldest first, some or all; with the call as it stands. Null for an unknown call. */
  read(ref: ModelCallRef, after: number): Promise<{call: ModelCallRow; parts: NumberedPart[]} | null>
  /** Says that somebody outside the generating process waits for more. */
  follow(ref: ModelCallRef, until: number): Promise<void>
  /** Removes the words of calls that ended before then (ms), at most `limit` calls; what they cost stays. */
  forget(endedBefore: number, limit: number): Promise<number>
  /**
   * Removes the words of every call of a session or of a subject, also of open ones, whose writers then stop; the cost
   * stays, without session, run and step. Returns how many calls that concerned. [RET-2]
   */
  erase(whose: {tenant: TenantId; subject: SubjectId; session?: SessionId}): Promise<number>
}
