import type {Kind, LoggedEvent} from './event.ts'
import type {OperationId, SessionId} from './ids.ts'
import {textStart} from './text.ts'

/** An external effect that a fork does not undo, as the record has it. [RUN-6, OP-6] */
export type StandingEffect = {
  session: SessionId
  operation: OperationId
  tool: string
  /** `started` and `uncertain` may have happened; `executed` has. */
  status: 'started' | 'uncertain' | 'executed'
  /** The beginning of the receipt; null while there is none. */
  receipt: string | null
  /** Where it began. */
  seq: number
}

/** `missing` names sessions whose record is not here, so that there may be more. */
export type StandingEffects = {effects: StandingEffect[]; missing: SessionId[]}

export const effectKinds: readonly Kind[] = [
  'operation.proposed',
  'operation.started',
  'operation.executed',
  'operation.uncertain',
  'operation.failed',
]

const receiptCharacters = 200

/**
 * What was begun in one session after an event, and stands or may stand. Feed it all confirmed events of `effectKinds`.
 *
 * @example
 * const effects = standingEffects(session, events, 12)
 */
export function standingEffects(session: SessionId, events: readonly LoggedEvent[], after: number): StandingEffect[] {
  const tools = new Map<OperationId, string>()
  const found = new Map<OperationId, StandingEffect>()
  for (const event of events) {
    if ('unreadable' in event || event.seq === null) continue
    if (event.kind === 'operation.proposed') tools.set(event.data.operation, event.data.tool)
    if (event.kind === 'operation.started') {
      const {operation} = event.data
      const tool = tools.get(operation) ?? ''
      found.set(operation, {session, operation, tool, status: 'started', receipt: null, seq: event.seq})
    }
    if (event.kind === 'operation.failed') found.delete(event.data.operation)
    if (event.kind !== 'operation.executed' && event.kind !== 'operation.uncertain') continue
    const effect = found.get(event.data.operation)
    if (!effect) continue
    effect.status = event.kind === 'operation.executed' ? 'executed' : 'uncertain'
    if (event.kind === 'operation.executed') effect.receipt = excerpt(JSON.stringify(event.data.receipt))
  }
  return [...found.values()].filter(({seq}) => seq > after)
}

function excerpt(text: string): string {
  return text.length > receiptCharacters ? `${textStart(text, receiptCharacters)}…` : text
}
