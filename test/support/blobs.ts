import {createHash, randomBytes} from 'node:crypto'
import type {BlobRef} from '../../runtime/protocol/blob.ts'

export const everyByte = Uint8Array.from({length: 1024}, (_, i) => i % 256)

export function refOf(bytes: Uint8Array, type = 'application/octet-stream'): BlobRef {
  const hash = createHash('sha256').update(bytes).digest('hex')
  return {$blob: `sha256:${hash}` as BlobRef['$blob'], bytes: bytes.length, type}
}

/** Bytes that nobody else has, with these words in them if there are any. */
export function bytesWith(words = '', length = 3000): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat([randomBytes(length), Buffer.from(words)]))
}
