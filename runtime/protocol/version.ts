/** Sent with every request; a server refuses another major protocol with `version_mismatch` instead of guessing. */
export const protocolVersion = 1

/**
 * Counts the changes within a protocol version that older peers understand. Raised with the pinned hash of the wire, it
 * tells a server that a field it does not know comes from a newer device and not from a mistake.
 */
export const wireRevision = 3

/** Stated and enforced on both sides; bytes are of UTF-8 JSON. */
export const limits = {
  bodyBytes: 1024 * 1024,
  batchEvents: 500,
  eventBytes: 256 * 1024,
  /** A larger value is kept as a blob, and so is whatever is no JSON. [LOG-5] */
  valueBytes: 64 * 1024,
  blobBytes: 8 * 1024 * 1024,
  /** Blobs that one event may hold. */
  eventBlobs: 16,
  /** What the blobs of a session may grow to, on a device and on the server. */
  sessionBlobBytes: 64 * 1024 * 1024,
  /** Characters of a text that are shown when the text itself is a blob. */
  blobExcerpt: 1000,
  slotBytes: 16 * 1024,
  /** Nesting depth of one value: an input, an output, a receipt, a fact, the slots. */
  jsonDepth: 64,
  /** Nesting depth of an event's data, which holds such values in its fields. */
  eventDepth: 80,
  messageCharacters: 16_000,
  titleCharacters: 200,
  /** Characters of a reason or name that a person gives: for a cancellation, a closing, a migration. */
  reasonCharacters: 500,
  /** Characters of a note on a decision. */
  noteCharacters: 1000,
  /** Characters of a shared document, as one page writes it. */
  documentCharacters: 100_000,
  excerptCharacters: 120,
  pendingEvents: 1000,
  pageEvents: 500,
  memoryCharacters: 1000,
  /** Items of one subject that are in force or wait for a decision. */
  memoryItems: 2000,
  memoryBatch: 100,
  memoryPage: 100,
} as const
