import type {Environment} from '../../runtime/protocol/environment.ts'
import type {Log, LogEvent} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {Bus} from '../bus.ts'
import type {Store} from '../storage/store.ts'
import type {Webhook} from './webhooks.ts'

/** Dependencies shared by all parts of the authority. */
export type Authority = {
  store: Store
  bus: Bus
  environment: Environment
  /** Webhooks to call. A message becomes due in the transaction of its event. */
  webhooks: readonly Webhook[]
  /** Receives errors that cannot be returned to a caller. Must not throw. */
  onFault: (error: unknown, about?: FaultPlace) => void
  log: Log
}

/** Event name and fields of the log line for an error. Default: `server.fault`, no fields. */
export type FaultPlace = {event?: LogEvent; fields?: TelemetryFields}
