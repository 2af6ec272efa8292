import type {LanguageModelV3Message} from '@ai-sdk/provider'
import {memoryPreface} from '../../runtime/index.ts'
import {addressOf} from '../address.ts'

/** One thing that memory has brought into this view, and the conversation that it comes from. */
export type Remembered = {text: string; session: string}

/** Items as the view writes them; one that was cut to fit is no longer what was remembered, and is left out. */
export function rememberedIn({content}: LanguageModelV3Message): Remembered[] {
  if (typeof content === 'string') return []
  const section = content.find(part => part.type === 'text' && part.text.startsWith(memoryPreface))
  if (section?.type !== 'text') return []
  return [...section.text.matchAll(/^- ([\s\S]+?) \((ses_[\w-]+)[^)]*\)$/gm)].map(match => ({
    text: match[1] ?? '',
    session: match[2] ?? '',
  }))
}

/** Quoted word for word, each with the way back to where it was said: whoever reads it can correct it. [MEM-3] */
export function fromMemory(remembered: readonly Remembered[]): string {
  const quoted = remembered.map(({text, session}) => `“${plain(text)}” ([where it comes from](${addressOf(session)}))`)
  return `From memory: ${quoted.join(', ')}`
}

/** Words that somebody said must not turn into headings and links. */
function plain(text: string): string {
  return text.replace(/[\\`*_[\]<>#]/g, '\\$&')
}

/** The name under a letter, if memory has said how replies are signed. */
export function signatureIn(remembered: readonly Remembered[]): string | null {
  for (const {text} of remembered) {
    const name = /\bsign(?:s|ed)?\b.{0,60}?\b(?:as|with|by)\s+(.+?)[.!]*$/i.exec(text)?.[1]
    if (name && name.length <= 80) return name
  }
  return null
}

/** What asks to be kept for another day, in the words that the worker's extractor listens for. */
const lasting =
  /^(?:(?:please |and )?remember\b|(?:please )?call me [\p{L}'-]{2,40}[.!]*$|i (?:\w+ )?prefer\b|(?:please )?(?:always|never)\b)/iu

export function asksToRemember(text: string): boolean {
  const sentences = text.split(/(?<=[.!?])\s+|\n+/).filter(sentence => sentence.trim() !== '')
  return sentences.length > 0 && sentences.every(one => lasting.test(one.trim()) && !one.trim().endsWith('?'))
}

export function asksWhatIsRemembered(text: string): boolean {
  return /\b(?:(?:do|what|can) (?:do |did |can )?you (?:still )?(?:remember|recall|know about me)|in (?:your )?memory)\b/i.test(
    text,
  )
}
