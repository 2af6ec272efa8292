import {checksumOf} from '../one-file/checksum.ts'

/**
 * Frame format: mark, length of the record, checksum of the record (4 bytes each), then the record. The mark lets a
 * reader find the next record after unreadable bytes.
 */
const mark = Uint8Array.of(0x48, 0x46, 0x6f, 0x31)
const headBytes = 12

export function frameOf(record: Uint8Array): Uint8Array<ArrayBuffer> {
  const frame = new Uint8Array(headBytes + record.length)
  const head = new DataView(frame.buffer)
  frame.set(mark)
  head.setUint32(4, record.length)
  head.setUint32(8, checksumOf(record))
  frame.set(record, headBytes)
  return frame
}

export type Frames = {
  records: Uint8Array[]
  /** Offset after the last complete record. The next record is written there. */
  end: number
  /** Number of unreadable ranges between complete records. A torn last record does not count: it was never acknowledged. */
  unreadable: number
}

export function framesIn(bytes: Uint8Array): Frames {
  const found: Frames = {records: [], end: 0, unreadable: 0}
  for (let at = 0; at < bytes.length; ) {
    const record = recordAt(bytes, at)
    if (!record) {
      at = nextMark(bytes, at + 1)
      continue
    }
    if (at > found.end) found.unreadable += 1
    found.records.push(record)
    at += headBytes + record.length
    found.end = at
  }
  return found
}

function recordAt(bytes: Uint8Array, at: number): Uint8Array | null {
  if (at + headBytes > bytes.length || mark.some((byte, i) => bytes[at + i] !== byte)) return null
  const head = new DataView(bytes.buffer, bytes.byteOffset + at, headBytes)
  const record = bytes.subarray(at + headBytes, at + headBytes + head.getUint32(4))
  if (record.length !== head.getUint32(4) || checksumOf(record) !== head.getUint32(8)) return null
  return record
}

function nextMark(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(mark[0] ?? 0, from); at >= 0; at = bytes.indexOf(mark[0] ?? 0, at + 1)) {
    if (mark.every((byte, i) => bytes[at + i] === byte)) return at
  }
  return bytes.length
}
