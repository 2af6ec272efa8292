import * as z from 'zod'
import type {LoggedEvent} from './event.ts'
import {limits} from './version.ts'

/** `sha256:` and the hash of exactly these bytes: the same bytes have the same id, and other bytes never have it. [LOG-5] */
export const blobIdSchema = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/, 'expected a blob id: "sha256:" and a SHA-256 in lower-case hex')
  .brand<'blob'>()
export type BlobId = z.infer<typeof blobIdSchema>

const mediaTypePattern = /^[\w.+-]+\/[\w.+-]+(; ?[\w.+=-]+){0,3}$/

export const mediaTypeSchema = z
  .string()
  .max(100, 'expected a media type of at most 100 characters')
  .regex(mediaTypePattern, 'expected a media type like "image/png"')

/**
 * Bytes that are kept beside the log. In a value it stands where the bytes would have stood; that an event holds the
 * bytes is said by the event's own `blobs` and by nothing else, so a value of the application that looks like this one
 * is only a value.
 */
export const blobRefSchema = z.strictObject({
  $blob: blobIdSchema,
  bytes: z.int().nonnegative().max(limits.blobBytes, `expected at most ${limits.blobBytes} bytes`),
  type: mediaTypeSchema,
})
export type BlobRef = z.infer<typeof blobRefSchema>

export const heldBlobsSchema = z
  .array(blobRefSchema)
  .min(1)
  .max(limits.eventBlobs, `expected at most ${limits.eventBlobs} blobs`)
  .refine(refs => new Set(refs.map(({$blob}) => $blob)).size === refs.length, 'expected each blob once')

/** The blobs that an event holds: they are kept, sent and erased with it. */
export function blobsOf(event: LoggedEvent): readonly BlobRef[] {
  if ('unreadable' in event) return []
  return event.kind === 'tool.returned' || event.kind === 'model.replied' ? (event.data.blobs ?? []) : []
}

export function blobId(hex: string): BlobId {
  return `sha256:${hex}` as BlobId
}

/** What is wrong with what the blobs of a session come to, or null: it grows within a budget, told once. */
export function overBudget(bytes: number): string | null {
  if (bytes <= limits.sessionBlobBytes) return null
  return `the blobs of this session would be ${bytes} bytes, at most ${limits.sessionBlobBytes} are kept`
}
