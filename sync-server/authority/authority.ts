import type {Environment} from '../../runtime/protocol/environment.ts'
import type {Log, LogEvent} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import type {Bus} from '../bus.ts'
import type {Store} from '../storage/store.ts'
import type {Webhook} from './webhooks.ts'

/** What every part of the authority works with. */
export type Authority = {
  store: Store
  bus: Bus
  environment: Environment
  /** Who is to be told outside; each message is due with the event that it is about. */
  webhooks: readonly Webhook[]
  /** Told of every fault that no caller can be told of; must not throw. */
  onFault: (error: unknown, about?: FaultPlace) => void
  log: Log
}

/** The event name and the fields with which a fault is logged. Default: `server.fault`, no fields. */
export type FaultPlace = {event?: LogEvent; fields?: TelemetryFields}
