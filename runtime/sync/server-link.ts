import type {LanguageModelV3CallOptions, LanguageModelV3StreamPart} from '@ai-sdk/provider'
import type {Decision, InboxItem} from '../protocol/approval.ts'
import type {Envelope} from '../protocol/event.ts'
import type {Fact} from '../protocol/fact.ts'
import type {ApprovalId, DeviceId, SessionId} from '../protocol/ids.ts'
import type {CustodyAnswer, LiveMessage, Page, PushAnswer, SessionSummary} from '../protocol/wire.ts'

/**
 * The server as a device sees it. Every call ends: with an answer, with the server's typed error, or with `offline` or
 * `deadline`, after which the outcome is unknown and the same call may be sent again. [CUS-5, SYNC-4]
 */
export interface ServerLink {
  push(session: SessionId, events: readonly Envelope[]): Promise<PushAnswer>
  pull(session: SessionId, after: number): Promise<Page>
  sessions(): Promise<SessionSummary[]>
  /** Compare and set: granted only if nobody moved the epoch since `sawEpoch`. [CUS-1] */
  claim(session: SessionId, claim: {device: DeviceId; sawEpoch: number}): Promise<CustodyAnswer>
  /** Null when the server knows of no such fact. */
  fact(key: string): Promise<Fact | null>
  /** Runs until the stream ends (resolves) or breaks (rejects); `hello` comes first. */
  live(onMessage: (message: LiveMessage) => void, signal: AbortSignal): Promise<void>
  models(): Promise<string[]>
  streamModel(name: string, options: LanguageModelV3CallOptions): Promise<ReadableStream<LanguageModelV3StreamPart>>
  /** What waits for a decision of this caller, or was decided. */
  inbox(status: 'open' | 'all'): Promise<InboxItem[]>
  decide(approval: ApprovalId, decision: Decision): Promise<InboxItem>
}
