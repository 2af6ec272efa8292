import type {MemoryPolicy} from '../../sync-server/index.ts'

/**
 * What somebody asked to be remembered, in so many words, is; what was merely picked up waits for them. Digits as long as
 * a card's are not kept at all.
 */
export const memoryPolicy: MemoryPolicy = ({proposal}) => {
  if (/(?:\d[ -]?){13,19}/.test(proposal.text)) return {refuse: 'Payment cards are not remembered.'}
  return proposal.confidence === 1
    ? {accept: 'You asked for it to be remembered.'}
    : {ask: 'It was picked up from what you wrote.'}
}
