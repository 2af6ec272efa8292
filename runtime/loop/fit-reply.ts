import type {DataOf} from '../protocol/event.ts'
import {jsonBytes} from '../protocol/json.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {limits} from '../protocol/version.ts'
import {cutText} from './view-sections.ts'

type Reply = DataOf<'model.replied'>

/** What an event has for its reply: the rest is for the envelope. */
const replyBytes = limits.eventBytes - 16 * 1024
const mostParts = 500
/** Less than this of a text is not worth keeping. */
const leastCharacters = 200

/**
 * The reply as one event can hold it. It is paid for, so what does not fit is cut, with a note where it was cut:
 * first what no person reads, then reasoning, then the input of calls, then text, the largest first. A call whose
 * input was cut is not run; its fault tells the model why.
 */
export function fitReply(reply: Reply): Reply {
  if (reply.content.length <= mostParts && jsonBytes(reply) <= replyBytes) return reply
  const content = withinCount(joined(reply.content))
  for (const shrink of [shrinkOpaque, dropMetadata, shrinkReasoning, shrinkInput, shrinkText]) {
    shrinkLargest(content, shrink)
  }
  return {...reply, content, cut: reply.cut ?? 'size'}
}

/** Neighbouring pieces of text are one text. */
function joined(content: readonly ReplyPart[]): ReplyPart[] {
  const parts: ReplyPart[] = []
  for (const part of content) {
    const last = parts.at(-1)
    const plain = !part.providerMetadata && !last?.providerMetadata
    if (plain && part.type === 'text' && last?.type === 'text')
      parts[parts.length - 1] = {...last, text: last.text + part.text}
    else parts.push(part)
  }
  return parts
}

function withinCount(parts: ReplyPart[]): ReplyPart[] {
  if (parts.length <= mostParts) return parts
  const kept = parts.slice(0, mostParts - 1)
  return [...kept, {type: 'text', text: `[${parts.length - kept.length} further parts of this reply were left out.]`}]
}

/** Returns the part with at most about `bytes` bytes less, or null for a part that it does not concern. */
type Shrink = (part: ReplyPart, over: number) => ReplyPart | null

function shrinkLargest(content: ReplyPart[], shrink: Shrink): void {
  const bySize = content.map((part, i) => ({i, bytes: jsonBytes(part)})).toSorted((a, b) => b.bytes - a.bytes)
  for (const {i} of bySize) {
    const over = jsonBytes(content) - replyBytes
    const part = content[i]
    if (over <= 0 || !part) return
    const smaller = shrink(part, over)
    if (smaller) content[i] = smaller
  }
}

const shrinkOpaque: Shrink = part =>
  part.type === 'opaque' ? {type: 'opaque', kind: part.kind, value: {leftOut: 'The reply was too large.'}} : null

/** Without it a provider may not take its own words back, but it still can be asked. */
const dropMetadata: Shrink = part => {
  if (!part.providerMetadata || jsonBytes(part.providerMetadata) < 1024) return null
  const {providerMetadata: _, ...rest} = part
  return rest
}

const shrinkReasoning: Shrink = (part, over) =>
  part.type === 'reasoning' ? {type: 'reasoning', text: shorter(part.text, over)} : null

const shrinkInput: Shrink = part => {
  if (part.type !== 'call') return null
  const text = JSON.stringify(part.input)
  const fault = `${part.tool}: the input of ${text.length} characters is too large. Call again with less.`
  return {...part, input: {excerpt: cutText(text, leastCharacters * 5)}, fault}
}

const shrinkText: Shrink = (part, over) => (part.type === 'text' ? {...part, text: shorter(part.text, over)} : null)

/** Shorter by `over` bytes of JSON: a character is one byte or several, so bytes are looked for by halves. */
function shorter(text: string, over: number): string {
  const room = jsonBytes(text) - over
  let [fits, tooLong] = [leastCharacters, text.length]
  while (tooLong - fits > 64) {
    const middle = (fits + tooLong) >> 1
    if (jsonBytes(cutText(text, middle)) <= room) fits = middle
    else tooLong = middle
  }
  return cutText(text, fits)
}
