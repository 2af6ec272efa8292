import type {MemoryId} from '../../../runtime/protocol/ids.ts'
import {evolveMemory, type MemoryItem, type MemoryProposal, proposedMemory} from '../../../runtime/protocol/memory.ts'
import {acceptAmong} from '../../../runtime/protocol/memory-fold.ts'
import {serverEnvironment as env} from '../../../sync-server/environment.ts'
import {facts, type StaleFact, stale} from './recall-set.ts'
import {proposalOf} from './teller.ts'

export type Question = {asked: string; answer: MemoryId}
export type LoadedSet = {items: MemoryItem[]; questions: Question[]; staleQuestions: string[]; now: number}

const act = {at: 1, by: {type: 'policy' as const}}
const now = 1_800_000_000_000

/** The set as it stands in memory: everything stale went through what makes an item stale. */
export function loadRecallSet(): LoadedSet {
  const items = new Map<MemoryId, MemoryItem>()
  const take = (over: Partial<MemoryProposal>) => {
    const item = proposedMemory(proposalOf({session: env.id('session'), event: env.id('event')}, over), 1)
    for (const one of acceptAmong([...items.values()], item, act)) items.set(one.id, one)
    return item.id
  }
  for (const fact of stale) {
    const id = take({text: fact.text, key: fact.key ?? null, validUntil: fact.how === 'expired' ? now - 1 : null})
    items.set(id, afterwards(items.get(id) as MemoryItem, fact))
  }
  const questions = facts.flatMap(({text, key, asked}) => {
    const answer = take({text, key: key ?? null})
    return asked.map(question => ({asked: question, answer}))
  })
  return {items: [...items.values()], questions, staleQuestions: stale.map(({asked}) => asked), now}
}

function afterwards(item: MemoryItem, {how}: StaleFact): MemoryItem {
  switch (how) {
    case 'forgotten':
      return evolveMemory(item, {do: 'forget'}, act)
    case 'corrected':
      return evolveMemory(item, {do: 'correct', text: 'This was mixed up with somebody else.', revision: 2}, act)
    // A later fact of the same key supersedes it; what has ended needs nobody to say so.
    case 'superseded':
    case 'expired':
      return item
  }
}
