import type {KeptDecision} from '../runtime-types.ts'
import {keptWords} from '../words/approval.ts'
import {Banner} from './banner.tsx'

/** Decisions that the server has not taken yet, and those that it did not take at all. */
export function KeptDecisions({decisions, onDismiss}: {decisions: KeptDecision[]; onDismiss: (nonce: string) => void}) {
  return decisions.map(decision => {
    const {nonce} = decision.signed.intent
    return decision.refused === null ? (
      <Banner key={nonce} tone="waiting">
        {keptWords(decision)}
      </Banner>
    ) : (
      <Banner key={nonce} tone="bad" onDismiss={() => onDismiss(nonce)}>
        {keptWords(decision)}
      </Banner>
    )
  })
}
