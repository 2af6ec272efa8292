import type {Embedder} from '../runtime/protocol/embedder.ts'
import type {MemoryProposal, MemoryRecord} from '../runtime/protocol/memory.ts'
import type {Owner} from './principal.ts'

/** `why` is kept with the item and shown to its subject, at most 500 characters of it. */
export type MemoryRuling = {accept: string} | {ask: string} | {refuse: string}

export type MemoryQuestion = Owner & {
  proposal: MemoryProposal
  /** What is in force now and would be superseded. */
  current: readonly MemoryRecord[]
}

/**
 * Decides what happens to a proposal: it enters memory, waits for its subject, or is not kept. A policy that throws or
 * takes longer than ten seconds has asked the subject. [MEM-2]
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
  /** Adds recall by meaning on the server. Default: full text only. */
  embedder?: Embedder
}

export const askTheSubject: MemoryPolicy = () => ({ask: 'Nothing enters memory by itself.'})
