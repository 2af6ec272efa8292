import type {MemoryKind} from '../protocol/memory.ts'
import type {MemoryDraft, MemoryExtractor, SaidLine} from './extractor.ts'

/** One thing that people say in such words, and what is remembered of it. */
export type MemoryRule = {
  /** Tried on each sentence of a person's message. */
  says: RegExp
  kind: MemoryKind
  /** The item's text; null when this match means nothing. */
  text(match: RegExpMatchArray): string | null
  key?: string | ((match: RegExpMatchArray) => string | undefined)
  /** From 0 to 1. Default: 0.9, because the person used these words. */
  confidence?: number
  /** Milliseconds for which it stays true after it was said. Default: no end. */
  lastsMs?: number
}

/** What anybody means by "remember that …", "call me …" and "I prefer …". */
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
 * Proposes what fixed rules find in a person's own words: the same run gives the same drafts, with no model.
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
