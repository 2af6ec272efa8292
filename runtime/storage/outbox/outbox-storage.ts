/**
 * Where an outbox keeps its records. Guarantee: what `append` resolved with `flush` survives the end of the process,
 * and `replace` leaves either all old records or all new ones, whenever the process ends. One opener at a time.
 */
export interface OutboxStorage {
  /** Every record that can be read, in the order of writing, and how many stretches between them cannot. */
  load(): Promise<{records: Uint8Array[]; unreadable: number}>
  append(record: Uint8Array, options: {flush: boolean}): Promise<void>
  replace(records: readonly Uint8Array[]): Promise<void>
  /** Bytes that the records take. */
  readonly size: number
  close(): Promise<void>
}
