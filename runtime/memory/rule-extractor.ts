import type {MemoryKind} from '../protocol/memory.ts'
import type {MemoryDraft, MemoryExtractor, SaidLine} from './extractor.ts'

/** Maps a phrase in a person's message to a memory item. */
export type MemoryRule = {
  /** Matched against each sentence of a person's message. */
  says: RegExp
  kind: MemoryKind
  /** The item's text; null discards the match. */
  text(match: RegExpMatchArray): string | null
  key?: string | ((match: RegExpMatchArray) => string | undefined)
  /** From 0 to 1. Default: 0.9. */
  confidence?: number
  /** Validity after the message, in milliseconds. Default: no end. */
  lastsMs?: number
}

/** Rules for "remember that …", "call me …", "I prefer …" and "always/never …". */
export const commonMemoryRules: readonly MemoryRule[] = [
  {
    says: /^(?:please |and )?remember (?:that )?(?<what>.{3,300})$/i,
    kind: 'fact',
    text: match => sentence(match.groups?.what),
    confidence: 1,
  },
  {
    says: /^(?:please )?call me (?<name>[\p{L}'-]{2,40})$/iu,
    kind: 'preference',
    key: 'preference/name',
    text: match => `Wants to be called ${match.groups?.name}.`,
    confidence: 1,
  },
  {
    says: /^i (?:really |always |would |usually )?prefer (?<what>.{3,200})$/i,
    kind: 'preference',
    text: match => `Prefers ${match.groups?.what}.`,
  },
  {
    says: /^(?:please )?(?<how>always|never) (?<what>.{3,200})$/i,
    kind: 'instruction',
    text: match => sentence(`${match.groups?.how} ${match.groups?.what}`),
  },
]

/**
 * Returns an extractor that applies fixed rules to a person's messages. It is deterministic and uses no model.
 *
 * @example
 * serveAgent(desk, {model, tools, memory: {extractor: ruleExtractor(commonMemoryRules)}})
 */
export function ruleExtractor(rules: readonly MemoryRule[]): MemoryExtractor {
  return {
    name: 'rules',
    extract: async ({lines}) => lines.filter(({from}) => from === 'person').flatMap(line => draftsOf(line, rules)),
  }
}

function draftsOf(line: SaidLine, rules: readonly MemoryRule[]): MemoryDraft[] {
  return sentencesOf(line.text).flatMap(said => {
    for (const rule of rules) {
      const match = said.match(rule.says)
      const text = match && rule.text(match)
      if (match && text) return [draft(rule, match, text, line)]
    }
    return []
  })
}

function draft(rule: MemoryRule, match: RegExpMatchArray, text: string, line: SaidLine): MemoryDraft {
  const key = typeof rule.key === 'function' ? rule.key(match) : rule.key
  return {
    text,
    kind: rule.kind,
    events: [line.event],
    confidence: rule.confidence ?? 0.9,
    ...(key !== undefined && {key}),
    ...(rule.lastsMs !== undefined && {validUntil: line.at + rule.lastsMs}),
  }
}

function sentencesOf(text: string): string[] {
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map(one => one.replace(/[.!]+$/, '').trim())
    .filter(one => one !== '' && !one.endsWith('?'))
}

function sentence(text = ''): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
