import type {SessionId, SubjectId, TenantId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {ModelCallName} from '../../runtime/protocol/model-call.ts'
import type {Owner} from '../principal.ts'

/** A call belongs to its subject: the same key of another subject is another call. [ID-4] */
export type ModelCallRef = Owner & {key: string}

/** `open` while a process generates; `lost` if that process crashed or had to stop. */
export type ModelCallStatus = 'open' | 'done' | 'failed' | 'aborted' | 'lost'

/** Tokens, and cost in millionths of the currency of the prices. `estimated` if the provider did not report usage. */
export type Spent = {inputTokens: number; outputTokens: number; costMicros: number; estimated: boolean}

export type NewModelCall = {
  ref: ModelCallRef
  /** Null for a call outside a run. */
  name: ModelCallName | null
  model: string
  /** Hash of the whole request: the same key with another request is refused. */
  requestHash: string
  /** The process that generates. It counts as alive until `leaseUntil`. */
  owner: string
  leaseUntil: number
  at: number
  /** Minimum usage of the call. Counted at once, so that concurrent calls see it. */
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
  /** Number of parts generated so far, also after the parts are deleted. */
  parts: number
  spent: Spent
}

/** Limit on a tenant's usage within the last `windowMs`. Null means no limit. */
export type SpendingLimit = {windowMs: number; tokens: number | null; costMicros: number | null}
export type Exhausted = SpendingLimit & {usedTokens: number; usedCostMicros: number; retryAfterMs: number}

export type Claim =
  | {status: 'won'}
  | {status: 'taken'; call: ModelCallRow}
  /** Nothing was recorded, and the provider must not be called. */
  | {status: 'exhausted'; limit: Exhausted}

export type CallEnd = {status: Exclude<ModelCallStatus, 'open'>; spent: Spent; at: number}

/** Every model call with its usage and cost. Never contains text of prompts or replies. [BUD-1, OBS-3] */
export interface ModelCallBook {
  /**
   * Claims a call key by compare-and-set, in one transaction with the limits. Of any number of claims, in any number
   * of processes, exactly one wins, and only the winner may call the provider.
   */
  claim(call: NewModelCall, limits: readonly SpendingLimit[]): Promise<Claim>
  /** Ends an open call with its last parts. False if it is not open or another process owns it. */
  settle(ref: ModelCallRef, owner: string, end: CallEnd, last: PartChunk): Promise<boolean>
  /** Ends calls whose lease expired before `now` as lost, with an error part. Returns their number. */
  expire(now: number, limit: number): Promise<number>
  get(ref: ModelCallRef): Promise<ModelCallRow | null>
  /** The calls of one run, oldest first. */
  ofRun(owner: Owner, run: string): Promise<ModelCallRow[]>
  /** Totals by model of a tenant or of one subject. `from` (inclusive) and `to` (exclusive) in ms. */
  totals(query: UsageQuery): Promise<ModelUsage[]>
}

export type UsageQuery = {tenant: TenantId; subject: SubjectId | null; from: number; to: number}
export type ModelUsage = {
  model: string
  calls: number
  /** Number of calls with estimated usage. */
  estimated: number
  inputTokens: number
  outputTokens: number
  costMicros: number
}

/** Parts of one generation, numbered from `first`. */
export type PartChunk = {first: number; parts: readonly Json[]}
export type NumberedPart = {n: number; part: Json}

/**
 * The parts of a generation, stored so that a reader that lost its connection can resume at its offset. The size is
 * bounded by the writer, and the parts expire: the transcript is stored elsewhere. [RET-1]
 */
export interface TokenStore {
  /**
   * Appends parts and renews the lease. Returns until when a reader of another process follows. Null, and nothing is
   * stored, if the call is not open or another process owns it: the writer must stop.
   */
  append(
    ref: ModelCallRef,
    owner: string,
    chunk: PartChunk,
    progress: {leaseUntil: number; spent: Spent},
  ): Promise<{followedUntil: number} | null>
  /** Parts after `after`, oldest first, not necessarily all, with the current call. Null for an unknown call. */
  read(ref: ModelCallRef, after: number): Promise<{call: ModelCallRow; parts: NumberedPart[]} | null>
  /** Records that a reader outside the generating process waits for more parts. */
  follow(ref: ModelCallRef, until: number): Promise<void>
  /**
   * Deletes the parts of calls that ended before `endedBefore` (ms), at most `limit` calls. Usage and cost are kept.
   */
  forget(endedBefore: number, limit: number): Promise<number>
  /**
   * Deletes the parts of all calls of a session or a subject. Open calls are aborted, and their writers stop. Usage
   * and cost are kept without session, run and step. Returns the number of calls. [RET-2]
   */
  erase(whose: {tenant: TenantId; subject: SubjectId; session?: SessionId}): Promise<number>
}
