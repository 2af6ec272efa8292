import type {ModelGateway} from '../loop/define.ts'
import type {EventId, MemoryId, RunId, SessionId} from '../protocol/ids.ts'
import type {MemoryKind, MemoryRecord} from '../protocol/memory.ts'

/** Something that a person or the agent said; `session` is where it was said, which for a fork may be its source. */
export type SaidLine = {event: EventId; session: SessionId; from: 'person' | 'agent'; text: string; at: number}

/** A run that has ended, as an extractor sees it: what was said, and nothing of working state or business facts. [WRK-4] */
export type SaidInRun = {session: SessionId; run: RunId; lines: readonly SaidLine[]; known: readonly MemoryRecord[]}

export type MemoryDraft = {
  text: string
  /** Like `preference/refund-channel`; one item of a key is in force at a time. */
  key?: string
  kind: MemoryKind
  /** The lines that say so, at least one. */
  events: readonly EventId[]
  /** Milliseconds since 1970. */
  validFrom?: number
  validUntil?: number
  /** From 0 to 1. */
  confidence: number
  /** The known item that this takes the place of, when it has another key or none. */
  supersedes?: MemoryId
}

export type ExtractorHost = {gateway: ModelGateway; signal: AbortSignal}

/**
 * Reads a run that has ended and says what is worth remembering; it only proposes. It may be asked again about a run whose
 * extraction failed with `offline` or another fault that passes, never about one that it has answered. [MEM-2]
 */
export interface MemoryExtractor {
  readonly name: string
  extract(said: SaidInRun, host: ExtractorHost): Promise<MemoryDraft[]>
}
