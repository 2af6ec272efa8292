import type {ModelCallOptions, ModelStream} from '../loop/language-model.ts'
import type {Decision, InboxItem} from '../protocol/approval.ts'
import type {BlobId} from '../protocol/blob.ts'
import type {Envelope} from '../protocol/event.ts'
import type {Fact, FactAnswer, FactsRequest} from '../protocol/fact.ts'
import type {ApprovalId, DeviceId, ErasureId, MemoryId, SessionId} from '../protocol/ids.ts'
import type {MemoryChange, MemoryItem, MemoryProposal} from '../protocol/memory.ts'
import type {MemoryPage, MemoryPushAnswer} from '../protocol/memory-wire.ts'
import type {ModelCallName} from '../protocol/model-call.ts'
import type {Person} from '../protocol/person.ts'
import type {AgentListing, CustodyAnswer, LiveMessage, Page, PushAnswer, SessionList} from '../protocol/wire.ts'

/**
 * The server as a device sees it. Every call ends: with an answer, with the server's typed error, or with `offline` or
 * `deadline`, after which the outcome is unknown and the same call may be sent again. [CUS-5, SYNC-4]
 */
export interface ServerLink {
  /** Returns the person that the token or cookie identifies. [ID-6] */
  me(): Promise<Person>
  push(session: SessionId, events: readonly Envelope[]): Promise<PushAnswer>
  /** Returns a page of the events after `after`, of about `bytes` at most. */
  pull(session: SessionId, after: number, bytes?: number): Promise<Page>
  /**
   * Stores the bytes of a blob that an event will name. Idempotent. `budget_exhausted`: the server has no room, and
   * accepts the event without the bytes. [LOG-5]
   */
  putBlob(session: SessionId, blob: BlobId, bytes: Uint8Array): Promise<void>
  /**
   * Returns the bytes as the server has them. The caller checks their hash. `budget_exhausted`: the server never had
   * room for them.
   */
  blob(session: SessionId, blob: BlobId): Promise<Uint8Array>
  /** Also lists what this device has to purge; `purged` confirms it. [RET-3] */
  sessions(device: DeviceId): Promise<SessionList>
  purged(device: DeviceId, erasures: readonly ErasureId[]): Promise<void>
  /**
   * Compare and set: granted only if the epoch is still `sawEpoch`. `to`: hands custody to that device. `idle`: grant
   * only while the holder works on no run. [CUS-1, CUS-3]
   */
  claim(
    session: SessionId,
    claim: {device: DeviceId; sawEpoch: number; to?: DeviceId; idle?: true},
  ): Promise<CustodyAnswer>
  /** Null when the server has no such fact. */
  fact(key: string): Promise<Fact | null>
  /** Returns one answer for each key, in order. At most 100 keys. */
  facts(request: FactsRequest): Promise<FactAnswer[]>
  /** Runs until the stream ends (resolves) or breaks (rejects); `hello` comes first. */
  live(onMessage: (message: LiveMessage) => void, signal: AbortSignal): Promise<void>
  /** The registry of agents. */
  agents(): Promise<AgentListing[]>
  models(): Promise<string[]>
  /** A call with a name is executed once. A repeated request continues it from its first part. [CUS-5] */
  streamModel(name: string, options: ModelCallOptions, call?: ModelCallName | null): Promise<ModelStream>
  inbox(status: 'open' | 'all'): Promise<InboxItem[]>
  pushMemory(proposals: readonly MemoryProposal[]): Promise<MemoryPushAnswer>
  pullMemory(after: number): Promise<MemoryPage>
  changeMemory(item: MemoryId, change: MemoryChange): Promise<MemoryItem>
  decide(approval: ApprovalId, decision: Decision): Promise<InboxItem>
}
