import type {LanguageModelV3Message, LanguageModelV3Prompt, LanguageModelV3ToolResultPart} from '@ai-sdk/provider'
import {contextPreface} from '../../runtime/index.ts'
import {type Remembered, rememberedIn} from './remembered.ts'

export type Result = {outcome: 'ok' | 'error' | 'denied'; value: unknown}
export type Call = {type: 'call'; id: string; tool: string; input: Record<string, unknown>; result: Result | null}
export type Said = {type: 'said'; by: 'person' | 'agent'; text: string}
export type Turn = Call | Said

/** The prompt split at the newest instruction: what it says, what came before it, and what was done for it so far. */
export type Conversation = {
  before: Turn[]
  instruction: string
  work: Call[]
  /** Messages right before the instruction that nobody answered. */
  skipped: number
  /** What was recalled for the newest instruction, best first. */
  remembered: Remembered[]
}

/** Everything that the rules may know is in here: a fact that no tool result carries does not exist for them. */
export function conversationOf(prompt: LanguageModelV3Prompt): Conversation {
  const turns = turnsOf(prompt)
  const last = turns.findLastIndex(isPersons)
  const newest = turns[last]
  const before = turns.slice(0, Math.max(last, 0))
  return {
    before,
    instruction: newest?.type === 'said' ? newest.text : '',
    work: turns.slice(last + 1).filter(turn => turn.type === 'call'),
    skipped: before.length - 1 - before.findLastIndex(turn => !isPersons(turn)),
    remembered: prompt.filter(isContext).flatMap(rememberedIn),
  }
}

function isPersons(turn: Turn): boolean {
  return turn.type === 'said' && turn.by === 'person'
}

function turnsOf(prompt: LanguageModelV3Prompt): Turn[] {
  const turns: Turn[] = []
  const calls = new Map<string, Call>()
  for (const message of prompt) {
    if (message.role === 'system' || isContext(message)) continue
    for (const part of message.content) {
      if (part.type === 'text') {
        turns.push({type: 'said', by: message.role === 'user' ? 'person' : 'agent', text: part.text})
      } else if (part.type === 'tool-call') {
        const call: Call = {
          type: 'call',
          id: part.toolCallId,
          tool: part.toolName,
          input: record(part.input),
          result: null,
        }
        calls.set(call.id, call)
        turns.push(call)
      } else if (part.type === 'tool-result') {
        const call = calls.get(part.toolCallId)
        if (call) call.result = resultOf(part.output)
      }
    }
  }
  return turns
}

/** Nobody said it: it shows the working state, for models that can read it. */
function isContext({role, content}: LanguageModelV3Message): boolean {
  const first = role === 'user' ? content[0] : undefined
  return first?.type === 'text' && first.text === contextPreface
}

function resultOf(output: LanguageModelV3ToolResultPart['output']): Result {
  switch (output.type) {
    case 'execution-denied':
      return {outcome: 'denied', value: parsed(output.reason ?? '')}
    case 'error-text':
      return {outcome: 'error', value: parsed(output.value)}
    case 'error-json':
      return {outcome: 'error', value: output.value}
    case 'text':
      return {outcome: 'ok', value: parsed(output.value)}
    default:
      return {outcome: 'ok', value: output.value}
  }
}

/** A denial, and on some hosts every result, carries its JSON as text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? {...value} : {}
}

export function callsOf(turns: readonly Turn[], tool: string): Call[] {
  return turns.filter(turn => turn.type === 'call').filter(call => call.tool === tool)
}
