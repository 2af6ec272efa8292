import type {DataOf, Event, LoggedEvent} from './event.ts'
import type {CallId, OperationId, SubjectId} from './ids.ts'
import type {Json} from './json.ts'
import {resultOutcome} from './operation.ts'
import type {SessionState} from './session.ts'

/** Stands where the erased words of a person stood in a session of somebody else. */
export const erasedWords = 'These words were erased.'

/** Kinds of events that can hold a person's words about an operation in another person's session. */
export const decisionKinds = [
  'approval.endorsed',
  'approval.granted',
  'approval.rejected',
  'operation.executed',
  'operation.failed',
] as const
export type DecisionEvent = Extract<Event, {kind: (typeof decisionKinds)[number]}>

/** An event without the words, the words themselves, and the new outcome of the operation if it held them. */
export type Cleaned = {operation: OperationId; data: DecisionEvent['data']; words: string; outcome: Json | undefined}

/**
 * Pure: returns the event without the words of this subject, or null when it holds none. Who decided what, when and for
 * whom stays, because it is the record of the decision.
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

/** Pure: replaces the words in every string of the value. */
export function replaceWords(value: Json, words: string): Json {
  if (typeof value === 'string') return value.replaceAll(words, erasedWords)
  if (Array.isArray(value)) return value.map(each => replaceWords(each, words))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceWords(each, words)]))
}

/** Words of a person about the operation of a call. */
export type Said = {operation: OperationId; call: CallId | null; words: string; outcome: Json | undefined}

type Saying = {kind: string; data: unknown}

/** The kinds that `saidBy` reads and `withoutSaid` changes. */
export const sayingKinds = [...decisionKinds, 'operation.proposed', 'tool.returned'] as const

/** Pure: lists the words of this subject in the events of a session. */
export function saidBy(events: readonly LoggedEvent[], subject: SubjectId): Said[] {
  const calls = new Map<OperationId, CallId>()
  for (const event of events) {
    if (event.kind !== 'operation.proposed') continue
    const {operation, call} = event.data as DataOf<'operation.proposed'>
    calls.set(operation, call)
  }
  return events.flatMap(event => {
    const cleaned = isDecision(event) ? withoutWords(event, subject) : null
    if (!cleaned) return []
    const {operation, words, outcome} = cleaned
    return [{operation, call: calls.get(operation) ?? null, words, outcome}]
  })
}

/** Pure: returns the event without the words of this subject, or null when it holds none. */
export function withoutSaid<E extends Saying>(event: E, subject: SubjectId, said: readonly Said[]): E | null {
  if (isDecision(event)) {
    const cleaned = withoutWords(event, subject)
    return cleaned && {...event, data: cleaned.data}
  }
  if (event.kind !== 'tool.returned') return null
  const {call} = event.data as DataOf<'tool.returned'>
  const data = said
    .filter(one => one.call === call)
    .reduce((value, {words}) => replaceWords(value, words), event.data as Json)
  return JSON.stringify(data) === JSON.stringify(event.data) ? null : {...event, data}
}

/** Pure: returns the state without the words in the outcomes of its operations. */
export function stateWithoutSaid(state: SessionState, said: readonly Said[]): SessionState {
  const outcomes = new Map(
    said.flatMap(({operation, outcome}) => (outcome === undefined ? [] : [[operation, outcome]])),
  )
  const operations = state.operations.map(operation => {
    const outcome = outcomes.get(operation.id)
    return outcome === undefined ? operation : {...operation, outcome}
  })
  return {...state, operations}
}

/**
 * Pure: a device can push the result of an operation whose words were erased after it stored the result. Its output
 * becomes the outcome without the words. [RET-3]
 */
export function withErasedOutcome(state: SessionState, event: Event): Event {
  if (event.kind !== 'tool.returned') return event
  const {call, outcome} = event.data
  const operation = state.operations.find(one => one.call === call)
  if (!operation || resultOutcome(operation) !== outcome || !holdsErasedWords(operation.outcome)) return event
  return {...event, data: {...event.data, output: operation.outcome}}
}

function holdsErasedWords(value: Json): boolean {
  if (typeof value === 'string') return value === erasedWords
  return value !== null && typeof value === 'object' && Object.values(value).some(holdsErasedWords)
}

function isDecision<E extends Saying>(event: E): event is E & DecisionEvent {
  return (decisionKinds as readonly string[]).includes(event.kind) && !('unreadable' in event)
}
