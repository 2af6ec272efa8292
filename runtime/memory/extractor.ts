import type {ModelGateway} from '../loop/define.ts'
import type {EventId, MemoryId, RunId, SessionId} from '../protocol/ids.ts'
import type {MemoryKind, MemoryRecord} from '../protocol/memory.ts'

/** A message of a person or the agent. In a fork, `session` may be the session that it was forked from. */
export type SaidLine = {event: EventId; session: SessionId; from: 'person' | 'agent'; text: string; at: number}

/** The extractor's input for an ended run: its messages, without working state or business facts. [WRK-4] */
export type SaidInRun = {session: SessionId; run: RunId; lines: readonly SaidLine[]; known: readonly MemoryRecord[]}

export type MemoryDraft = {
  text: string
  /** For example `preference/refund-channel`. At most one item per key is in force at a time. */
  key?: string
  kind: MemoryKind
  /** Events of the lines that support the text; at least one. */
  events: readonly EventId[]
  /** Milliseconds since 1970. */
  validFrom?: number
  validUntil?: number
  /** From 0 to 1. */
  confidence: number
  /** The known item that this draft replaces, when that item has another key or none. */
  supersedes?: MemoryId
}

export type ExtractorHost = {gateway: ModelGateway; signal: AbortSignal}

/**
 * Proposes memory items from an ended run. An extraction that failed with `offline` or another temporary error may be
 * retried. A successful one is never repeated. [MEM-2]
 */
export interface MemoryExtractor {
  readonly name: string
  extract(said: SaidInRun, host: ExtractorHost): Promise<MemoryDraft[]>
}
