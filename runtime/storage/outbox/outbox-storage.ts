/**
 * Durable storage of the outbox records. Guarantees: a record appended with `flush` survives a crash once `append`
 * resolves. `replace` is atomic: a crash leaves either all old records or all new ones. Only one instance may be open.
 */
export interface OutboxStorage {
  /** Reads all readable records in write order, and the number of unreadable ranges between them. */
  load(): Promise<{records: Uint8Array[]; unreadable: number}>
  append(record: Uint8Array, options: {flush: boolean}): Promise<void>
  replace(records: readonly Uint8Array[]): Promise<void>
  /** Size of the records in bytes. */
  readonly size: number
  close(): Promise<void>
}
