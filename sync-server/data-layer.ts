import type {OperationId, SessionId, SubjectId, TenantId} from '../runtime/protocol/ids.ts'
import type {Json} from '../runtime/protocol/json.ts'
import type {Owner} from './principal.ts'
import type {LayerRule} from './retention.ts'

/** What is being erased: these sessions of a subject, or, with `whole`, everything of the subject. */
export type ErasureScope = {
  tenant: TenantId
  subject: SubjectId
  sessions: readonly SessionId[]
  /** The operations proposed in these sessions; of a whole subject also those of sessions that were erased earlier. */
  operations: readonly OperationId[]
  whole: boolean
}

/**
 * A place that keeps something of sessions or subjects beside the records of the store: memory, token streams, an
 * application's own tables. Erasure and export reach all of them. [RET-2]
 */
export interface DataLayer {
  /** As receipts and exports call it. */
  readonly name: string
  /** Derived layers outlive their session unless the erasure asks for them; a whole subject takes them too. [RET-4] */
  readonly derived?: boolean
  /** What stays of an erased record, as the receipt names it. Default: nothing. */
  readonly kept?: string
  /**
   * Deletes for good and returns how many records. Idempotent: called again after a crash, and when an operation that
   * was started before the erasure has ended after it.
   */
  erase(scope: ErasureScope): Promise<number>
  /**
   * Rewrites the files that may still hold erased bytes, such as `VACUUM FULL` of its tables. Called on PGlite only, and
   * rarely; on Postgres this is the operator's.
   */
  rewriteFiles?(): Promise<void>
  /** Deletes what was last touched before a time (ms), under the rule of the server's `retention` that is named. */
  readonly expiry?: {rule: LayerRule; before(cutoff: number): Promise<number>}
  /** Everything it keeps of a subject, one JSON a record. */
  records(owner: Owner): AsyncIterable<Json>
}
