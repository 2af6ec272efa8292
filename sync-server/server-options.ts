import type {Environment} from '../runtime/protocol/environment.ts'
import type {LogLine} from '../runtime/protocol/log-line.ts'
import type {Webhook} from './authority/webhooks.ts'
import type {BodyRoom} from './body-room.ts'
import type {Bus} from './bus.ts'
import type {DataLayer} from './data-layer.ts'
import type {Operations} from './define-operation.ts'
import type {ErasedFilesOptions} from './erased-files.ts'
import type {FactSource} from './facts.ts'
import type {StreamLimits} from './live-streams.ts'
import type {MemoryOptions} from './memory-policy.ts'
import type {Models, TenantBudgets} from './models/config.ts'
import type {GatewayLimits} from './models/gateway.ts'
import type {Authenticate} from './principal.ts'
import type {RateLimits} from './rate-limit.ts'
import type {Retention} from './retention.ts'
import type {BlobRoom} from './storage/blob-shelf.ts'
import type {Store} from './storage/store.ts'

/** Options of `createSyncServer`. */
export type SyncServerOptions = {
  store: Store
  authenticate: Authenticate
  /** The application's business facts. Default: none. */
  facts?: FactSource
  /** External tools by name. Default: none. */
  operations?: Operations
  /** Models of the gateway, by the name that devices use. Provider keys never leave the server. */
  models?: Models
  /** The policy that decides which memories are stored, and the embedder that recall uses. */
  memory?: MemoryOptions
  /** How much each tenant may use within a time window. Default: no limit. */
  budgets?: TenantBudgets
  environment?: Environment
  /** Notifies other processes of commits. Default: this process only. */
  bus?: Bus
  /** Signed webhooks to call. Default: none. */
  notify?: {webhooks: readonly Webhook[]}
  /**
   * Set this when other processes use the same database at the same time. Their unfinished work is then taken over
   * only after their leases expire. Default: false; `start` takes over the work of an earlier process immediately.
   */
  sharesDatabase?: boolean
  limits?: {
    /** Maximum bytes of a request body. Default: 1 MiB. */
    bodyBytes?: number
    /** Bytes of request bodies held in memory at once. Default: 32 MiB per subject, 512 MiB per process. */
    bodies?: Partial<BodyRoom>
    /** Maximum bytes of all blobs. Default: 64 MiB per session, 10 GiB per tenant. */
    blobs?: Partial<BlobRoom>
    /** Milliseconds between two checks for due work. Default: 5,000. */
    sweepMs?: number
    /** Milliseconds between two heartbeats on a live stream. Default: 15,000. */
    heartbeatMs?: number
    /** Live streams open at once in this process. Default: 30 per subject, 10,000 per tenant. */
    streams?: Partial<StreamLimits>
    /** Request rate (per second) and burst in this process, per subject and per tenant. */
    rates?: Partial<RateLimits>
    /** Limits of the model gateway: timeouts of a generation, and its maximum output. */
    models?: Partial<GatewayLimits>
  }
  /** Further places that store data of sessions or subjects. Erasure and export include them. */
  layers?: readonly DataLayer[]
  roles?: {
    /** May erase and export the data of any subject of its tenant, and read the tenant's usage. Default: `operator`. */
    operator?: string
    /** May read the audit log of its tenant. Default: `auditor`. */
    auditor?: string
    /** May publish agents and change the active version. Default: `publisher`. */
    publisher?: string
  }
  /** Retention period of each layer. For the defaults, see `Retention`. */
  retention?: Partial<Retention>
  /** How and when erased data is removed from the database files. */
  erasure?: ErasedFilesOptions
  /** Origins whose pages may call this server across origins. Default: none. */
  cors?: {origins: string[]}
  /**
   * Offers `/metrics` in the Prometheus text format to requests that `authorise` accepts. Default: no such route.
   * OpenTelemetry needs no option: register an SDK, and it receives the spans and metrics.
   */
  metrics?: {authorise(request: Request): boolean | Promise<boolean>}
  /**
   * Receives a log line for every event that an operator may need. Lines have the same fields as the spans and
   * contain no text of a person, a model or a tool. `jsonLines` of `holdfast/server/node` prints them. Default: no
   * log.
   */
  log?: (line: LogLine) => void
  /**
   * Receives every error of the server or of application code. The error is not redacted and may contain confidential
   * text. Default: `console.error`, or nothing if `log` is set.
   */
  onFault?: (error: unknown) => void
}
