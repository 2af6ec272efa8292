import type {OperationId, SessionId, SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import type {Owner} from './principal.ts'
import type {LayerRule} from './retention.ts'

/** The scope of an erasure: these sessions of a subject, or all data of the subject if `whole` is set. */
export type ErasureScope = {
  tenant: TenantId
  subject: SubjectId
  sessions: readonly SessionId[]
  /** The operations proposed in these sessions. For a whole subject, also those of previously erased sessions. */
  operations: readonly OperationId[]
  whole: boolean
}

/**
 * A place outside the store's own records that holds data of sessions or subjects: memory, token streams, an
 * application's own tables. Erasure and export include all of them. [RET-2]
 */
export interface DataLayer {
  /** Name of the layer in receipts and exports. */
  readonly name: string
  /**
   * A derived layer outlives its session unless the erasure includes it. Erasing a whole subject always includes it.
   * [RET-4]
   */
  readonly derived?: boolean
  /** What remains of an erased record, as stated in the receipt. Default: nothing. */
  readonly kept?: string
  /**
   * Deletes permanently and returns the number of records. Idempotent: called again after a crash, and when an
   * operation that started before the erasure ends after it.
   */
  erase(scope: ErasureScope): Promise<number>
  /**
   * Rewrites the files that may still hold erased bytes, for example with `VACUUM FULL`. Called rarely, and on PGlite
   * only; on Postgres the operator does this.
   */
  rewriteFiles?(): Promise<void>
  /** Deletes records last used before `cutoff` (ms since 1970). `rule` names the entry of the server's `retention`. */
  readonly expiry?: {rule: LayerRule; before(cutoff: number): Promise<number>}
  /** Yields every record that the layer holds of a subject, as JSON. */
  records(owner: Owner): AsyncIterable<Json>
}
