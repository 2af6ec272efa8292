import type {Embedder} from '../runtime/protocol/embedder.ts'
import type {MemoryProposal, MemoryRecord} from '../runtime/protocol/memory.ts'
import type {Owner} from './principal.ts'

/** The text is the reason. It is stored with the item and shown to its subject, truncated to 500 characters. */
export type MemoryRuling = {accept: string} | {ask: string} | {refuse: string}

export type MemoryQuestion = Owner & {
  proposal: MemoryProposal
  /** The current records that the proposal would supersede. */
  current: readonly MemoryRecord[]
}

/**
 * Decides whether a proposal is stored, waits for its subject, or is refused. A policy that throws or takes longer
 * than ten seconds counts as `ask`. [MEM-2]
 *
 * @example
 * const policy: MemoryPolicy = ({proposal}) =>
 *   proposal.kind === 'preference' && proposal.confidence >= 0.9
 *     ? {accept: 'The person said so in these words.'}
 *     : {ask: 'Only its subject can tell.'}
 */
export type MemoryPolicy = (question: MemoryQuestion) => MemoryRuling | Promise<MemoryRuling>

export type MemoryOptions = {
  /** Default: every proposal waits for a decision of its subject. */
  policy?: MemoryPolicy
  /** Adds semantic recall on the server. Default: full text only. */
  embedder?: Embedder
}

export const askTheSubject: MemoryPolicy = () => ({ask: 'Nothing enters memory by itself.'})
