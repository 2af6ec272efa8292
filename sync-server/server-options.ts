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
  /** External tools, each under its own name. Default: none. */
  operations?: Operations
  /** Models of the gateway by the name that devices use; their keys stay here. */
  models?: Models
  /** What enters memory, and how the server recalls it. */
  memory?: MemoryOptions
  /** How much each tenant may use within a time window. Default: no limit. */
  budgets?: TenantBudgets
  environment?: Environment
  /** Notifies other processes of commits. Default: this process only. */
  bus?: Bus
  /** Signed webhooks to call. Default: none. */
  notify?: {webhooks: readonly Webhook[]}
  /**
   * Other processes work on the same database at the same time: what they have under way is left to them until their
   * leases run out. Default: false, so `start` takes over at once what an earlier process left.
   */
  sharesDatabase?: boolean
  limits?: {
    /** Maximum bytes of a request body. Default: 1 MiB. */
    bodyBytes?: number
    /** Bytes of request bodies held at once: of one subject, and in this process. Default: 32 and 512 MiB. */
    bodies?: Partial<BodyRoom>
    /** Maximum bytes of all blobs. Default: 64 MiB per session, 10 GiB per tenant. */
    blobs?: Partial<BlobRoom>
    /** Milliseconds between two checks for due work. Default: 5,000. */
    sweepMs?: number
    /** Milliseconds between two heartbeats on a live stream. Default: 15,000. */
    heartbeatMs?: number
    /** Live streams open at once of one subject and of one tenant in this process. Default: 30 and 10,000. */
    streams?: Partial<StreamLimits>
    /** Requests a second, and at once, of one subject and of one tenant in this process. */
    rates?: Partial<RateLimits>
    /** Of the model gateway: how long a generation waits for its readers, and how much it may say. */
    models?: Partial<GatewayLimits>
  }
  /** What is kept beside the store: erased and exported with it. */
  layers?: readonly DataLayer[]
  roles?: {
    /** May erase and export for any subject of its tenant, and may read its usage. Default: `operator`. */
    operator?: string
    /** May read the audit of its tenant. Default: `auditor`. */
    auditor?: string
    /** May publish agents and change the active version. Default: `publisher`. */
    publisher?: string
  }
  /** How long each layer is kept. For the defaults, see `Retention`. */
  retention?: Partial<Retention>
  /** When the files of the database hold nothing of what was erased. */
  erasure?: ErasedFilesOptions
  /** Other origins whose pages may call this server. Default: none. */
  cors?: {origins: string[]}
  /**
   * Offers `/metrics` in the text format of Prometheus to whoever this lets in; left out, there is no such route.
   * OpenTelemetry needs no option: register an SDK, and spans and metrics go where it says.
   */
  metrics?: {authorise(request: Request): boolean | Promise<boolean>}
  /**
   * Gets a line for everything that an operator may have to know, with the fields of the spans and with nothing that a
   * person, a model or a tool wrote; `jsonLines` of `holdfast/server/node` prints it. Default: no log.
   */
  log?: (line: LogLine) => void
  /**
   * Told of every fault of the server or of the code it was given, whole, with whatever is in its words; writes to
   * standard error unless told, or unless there is a `log`.
   */
  onFault?: (error: unknown) => void
}
