import type {DataOf} from '../protocol/event.ts'
import {jsonBytes} from '../protocol/json.ts'
import {redactText} from '../protocol/redact-secrets.ts'
import type {ReplyPart} from '../protocol/run.ts'
import {limits} from '../protocol/version.ts'
import {type BlobContent, textBlob} from './storable-result.ts'
import {cutText} from './view-sections.ts'

type Reply = DataOf<'model.replied'>

/** Bytes of an event that its reply may use. The rest is for the envelope. */
const replyBytes = limits.eventBytes - 20 * 1024
const mostParts = 500
/** Texts are not cut below this length. */
const leastCharacters = 200

export type FittedReply = {reply: Reply; blobs: readonly BlobContent[]}

/**
 * Cuts a reply to the size that one event can hold. The reply is paid for, so it is kept, with a note at each cut. Cut
 * in this order, largest parts first: opaque parts, metadata, reasoning, text, inputs of calls. Where text was cut, the
 * complete text is a blob of the event. A call whose input was cut is not executed; its fault tells the model why.
 */
export async function fitReply(reply: Reply): Promise<FittedReply> {
  if (fits(reply.content)) return {reply, blobs: []}
  const joint = joined(reply.content)
  if (fits(joint)) return {reply: {...reply, content: joint}, blobs: []}
  const content = withinCount([...joint])
  for (const shrink of [shrinkOpaque, dropMetadata, shrinkReasoning, shrinkText, shrinkInput]) {
    shrinkLargest(content, shrink)
  }
  const cut = {...reply, content, cut: reply.cut ?? ('size' as const)}
  const kept = textOf(content)
  const isShort = joint.some(part => part.type === 'text' && !kept.includes(part.text))
  const blob = isShort ? await textBlob(redactText(textOf(joint))) : null
  return blob ? {reply: {...cut, blobs: [blob.ref]}, blobs: [blob]} : {reply: cut, blobs: []}
}

function fits(content: readonly ReplyPart[]): boolean {
  return content.length <= mostParts && jsonBytes(content) <= replyBytes
}

function textOf(content: readonly ReplyPart[]): string {
  return content.flatMap(part => (part.type === 'text' ? part.text : [])).join('\n\n')
}

/** Joins adjacent text parts. */
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

/** Returns the part shortened by about `over` bytes, or null if it does not apply to this part. */
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

/** Without its metadata, a provider may not recognise its own output, but can still be called. */
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

/** Shortens a text by `over` bytes of JSON. Characters differ in bytes, so the length is found by binary search. */
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
