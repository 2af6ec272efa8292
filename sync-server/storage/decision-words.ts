import type {DataOf, Event} from '../../runtime/protocol/event.ts'
import type {OperationId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {Json} from '../../runtime/protocol/json.ts'

/** Stands where the erased words of a person stood in a session of somebody else. */
export const erasedWords = 'These words were erased.'

/** The events that can hold what a person said about an operation in somebody else's session. */
export const decisionKinds = [
  'approval.endorsed',
  'approval.granted',
  'approval.rejected',
  'operation.executed',
  'operation.failed',
] as const
export type DecisionEvent = Extract<Event, {kind: (typeof decisionKinds)[number]}>

/** One event without the words, the words, and what the operation's outcome becomes. */
export type Cleaned = {operation: OperationId; data: DecisionEvent['data']; words: string; outcome: Json | undefined}

/**
 * Pure: the event without what this subject said in it; null when it holds no words of theirs. Who decided, what, when
 * and for whom stays: it is the record of the decision.
 */
export function withoutWords({kind, data}: Pick<DecisionEvent, 'kind' | 'data'>, subject: SubjectId): Cleaned | null {
  switch (kind) {
    case 'approval.endorsed':
    case 'approval.granted':
    case 'approval.rejected': {
      const said = data as DataOf<'approval.rejected'>
      if (said.by !== subject || !said.note || said.note === erasedWords) return null
      const outcome = kind === 'approval.rejected' ? {by: said.by, note: erasedWords} : undefined
      return {operation: said.operation, data: {...said, note: erasedWords}, words: said.note, outcome}
    }
    case 'operation.executed': {
      const said = data as DataOf<'operation.executed'>
      const words = said.settledBy === subject ? settledWords(said.receipt) : null
      if (words === null) return null
      const receipt = {receipt: erasedWords, saidBy: subject}
      return {operation: said.operation, data: {...said, receipt}, words, outcome: receipt}
    }
    case 'operation.failed': {
      const said = data as DataOf<'operation.failed'>
      if (said.settledBy !== subject || said.reason === erasedWords) return null
      const outcome = {reason: erasedWords}
      return {operation: said.operation, data: {...said, reason: erasedWords}, words: said.reason, outcome}
    }
  }
}

function settledWords(receipt: Json): string | null {
  const words = receipt !== null && typeof receipt === 'object' && 'receipt' in receipt ? receipt.receipt : receipt
  return typeof words === 'string' && words !== erasedWords ? words : null
}

/** Pure: the value with the words replaced in every string that holds them. */
export function replaceWords(value: Json, words: string): Json {
  if (typeof value === 'string') return value.replaceAll(words, erasedWords)
  if (Array.isArray(value)) return value.map(each => replaceWords(each, words))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceWords(each, words)]))
}
