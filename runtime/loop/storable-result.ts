import type * as z from 'zod'
import {type BlobId, type BlobRef, blobId, mediaTypeSchema} from '../protocol/blob.ts'
import {givenJson} from '../protocol/given-json.ts'
import {toHex} from '../protocol/hex.ts'
import {type Json, jsonBytes, jsonSchema} from '../protocol/json.ts'
import {redactSecrets, redactText} from '../protocol/redact-secrets.ts'
import {textStart} from '../protocol/text.ts'
import {limits} from '../protocol/version.ts'
import {cutText} from './view-sections.ts'

/** What a tool may give back: JSON, with bytes anywhere in it. */
export type ToolOutput = Json | Uint8Array | Blob | ToolOutput[] | {[key: string]: ToolOutput}

/** Bytes that go into the database together with the event that holds them. */
export type BlobContent = {ref: BlobRef; bytes: Uint8Array<ArrayBuffer>}

export type StorableResult = {output: Json; blobs: BlobContent[]} | {fault: string}

type Binary = Uint8Array | Blob
/** As it stands in a value; a text shows how it begins, so that a model knows what it has. */
type Shown = BlobRef & {excerpt?: string}
type Kept = {content: BlobContent; shown: Shown}

/**
 * Makes of whatever a tool gave back what an event can hold: bytes, and a value over 64 KiB as a whole, become blobs, and
 * in their place stands what they are and how they begin. What is shaped like a credential is left out of all that is
 * text; other bytes stay exactly what they are. [LOG-5, VIEW-4, VIEW-5]
 */
export async function storableResult(value: unknown): Promise<StorableResult> {
  if (isTooWide(value)) return {fault: `more than ${mostValues} values; at most ${limits.blobBytes} bytes are taken`}
  const binaries = binariesIn(value)
  const large = [...binaries].find(binary => sizeOf(binary) > limits.blobBytes)
  if (large) return {fault: `${sizeOf(large)} bytes in one piece; at most ${limits.blobBytes} are taken`}
  const kept = new Map<Binary, Kept>()
  for (const binary of binaries) kept.set(binary, await keepBinary(binary))
  const checked = jsonSchema.safeParse(givenJson(binaries.size > 0 ? withReferences(value, kept) : value))
  if (!checked.success) return {fault: `what JSON cannot hold: ${faultOf(checked.error)}`}
  const output = redactSecrets(checked.data)
  const contents = [...kept.values()].map(({content}) => content)
  return jsonBytes(output) > limits.valueBytes ? await asBlob(output, contents) : held(output, contents)
}

function faultOf({issues: [issue]}: z.ZodError): string {
  const path = ['output', ...(issue?.path ?? [])].map(String).join('.')
  return `${textStart(path, 300)}: ${issue?.message}`
}

async function asBlob(output: Json, contents: BlobContent[]): Promise<StorableResult> {
  const text = JSON.stringify(output)
  const {content, shown} = await keep(new TextEncoder().encode(text), 'application/json', text)
  if (content.bytes.length > limits.blobBytes) {
    return {fault: `${content.bytes.length} bytes; at most ${limits.blobBytes} are taken`}
  }
  return held(shown, [...contents, content])
}

function held(output: Json, contents: readonly BlobContent[]): StorableResult {
  const blobs = [...new Map(contents.map(content => [content.ref.$blob, content])).values()]
  if (blobs.length > limits.eventBlobs) return {fault: `${blobs.length} blobs; at most ${limits.eventBlobs} are taken`}
  return {output, blobs}
}

function isBinary(value: unknown): value is Binary {
  return value instanceof Uint8Array || value instanceof Blob
}

/** Each value is at least two bytes of JSON, so that more of them cannot be kept. */
const mostValues = limits.blobBytes / 2

/**
 * Counts values as JSON would write them, each as often as it stands there. A list can claim any length, and a value
 * that holds itself twice doubles with each level: no deadline would end the walks that follow.
 */
function isTooWide(value: unknown): boolean {
  let room = mostValues
  const count = (inner: unknown, depth: number): boolean => {
    room -= 1
    if (room < 0) return true
    if (typeof inner !== 'object' || inner === null || isBinary(inner) || depth > limits.jsonDepth) return false
    if (Array.isArray(inner) && inner.length > room) return true
    return Object.values(inner).some(each => count(each, depth + 1))
  }
  return count(value, 0)
}

function sizeOf(binary: Binary): number {
  return binary instanceof Blob ? binary.size : binary.byteLength
}

/** Does not look deeper than JSON may go, and so comes to an end in a value that holds itself. */
function binariesIn(value: unknown, found = new Set<Binary>(), depth = 0): Set<Binary> {
  if (isBinary(value)) return found.add(value)
  if (typeof value !== 'object' || value === null || depth > limits.jsonDepth) return found
  for (const inner of Array.isArray(value) ? value : Object.values(value)) binariesIn(inner, found, depth + 1)
  return found
}

function withReferences(value: unknown, kept: ReadonlyMap<Binary, Kept>, depth = 0): unknown {
  if (isBinary(value)) return kept.get(value)?.shown
  if (typeof value !== 'object' || value === null || depth > limits.jsonDepth) return value
  if (Array.isArray(value)) return value.map(inner => withReferences(inner, kept, depth + 1))
  // Anything else than a plain object is for the check of JSON to refuse by its name.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value))) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withReferences(inner, kept, depth + 1)]))
}

async function keepBinary(binary: Binary): Promise<Kept> {
  // A copy: the tool may go on writing into what it has given away.
  const bytes = new Uint8Array(binary instanceof Blob ? await binary.arrayBuffer() : binary)
  const named = binary instanceof Blob ? binary.type : ''
  const type = mediaTypeSchema.safeParse(named).success ? named : 'application/octet-stream'
  const text = isText(type) ? textOf(bytes) : null
  if (text === null) return keep(bytes, type, null)
  const clean = redactText(text)
  return keep(clean === text ? bytes : new TextEncoder().encode(clean), type, clean)
}

/** A text as a blob; null for one that is larger than a blob may be. Secrets are left out before. [VIEW-5] */
export async function textBlob(text: string): Promise<BlobContent | null> {
  const bytes = new TextEncoder().encode(text)
  return bytes.length > limits.blobBytes ? null : (await keep(bytes, 'text/plain', null)).content
}

async function keep(bytes: Uint8Array<ArrayBuffer>, type: string, text: string | null): Promise<Kept> {
  const ref = {$blob: await blobIdOf(bytes), bytes: bytes.length, type}
  return {content: {ref, bytes}, shown: text === null ? ref : {...ref, excerpt: cutText(text, limits.blobExcerpt)}}
}

function isText(type: string): boolean {
  return /^text\/|^application\/(json|xml|[\w.-]+\+(json|xml))\b/.test(type)
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes)
  } catch {
    return null
  }
}

/** The id that exactly these bytes have. */
export async function blobIdOf(bytes: Uint8Array<ArrayBuffer>): Promise<BlobId> {
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return blobId(toHex(new Uint8Array(digest)))
}
