import {context, trace} from '@opentelemetry/api'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Log, type LogLine, loggedError, openLog} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import {type Bucket, take} from '../rate-limit.ts'

/** Creates the server's log. Each line carries the ids of the active span, so that both can be correlated. [OBS-1] */
export function serverLog(write: ((line: LogLine) => void) | undefined, environment: Environment): Log {
  const log = openLog(write, environment.now)
  if (!write) return log
  return (event, fields, error) => {
    const span = trace.getSpanContext(context.active())
    log(event, {...fields, ...(span && {trace_id: span.traceId, span_id: span.spanId})}, error)
  }
}

/** Refusals that may indicate an attack or a faulty device. Other refusals are routine and are not logged. */
const worthTelling = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'budget_exhausted',
  'version_mismatch',
  'stale_epoch',
  'unavailable',
] as const
/** Rate limit per second: any caller can cause refusals, and must not fill the disk with log lines. [SYNC-6] */
const rate = {perSecond: 5, burst: 50}

/** Logs refused requests at a limited rate. The next line carries the number of omitted lines. */
export function refusals(log: Log, now: () => number): (error: unknown, fields: () => TelemetryFields) => void {
  let bucket: Bucket | undefined
  let leftOut = 0
  return (error, fields) => {
    if (!HoldfastError.is(error, ...worthTelling)) return
    const taken = take(bucket, rate, now())
    bucket = taken.bucket
    if (taken.waitMs > 0) {
      leftOut += 1
      return
    }
    const told = loggedError(error)
    const about = {...fields(), ...(leftOut > 0 && {'holdfast.left_out': leftOut})}
    // `unavailable` is logged with its cause; other refusals only with their code.
    if (told.code === 'unavailable') log('server.unavailable', about, told)
    else log(told.code === 'stale_epoch' ? 'epoch.stale' : 'request.refused', about, {code: told.code})
    leftOut = 0
  }
}
