import {context, trace} from '@opentelemetry/api'
import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Log, type LogLine, loggedError, openLog} from '../../runtime/protocol/log-line.ts'
import type {TelemetryFields} from '../../runtime/protocol/telemetry.ts'
import {type Bucket, take} from '../rate-limit.ts'

/** The lines of a server; each names the span that it was told under, so that the two are found together. [OBS-1] */
export function serverLog(write: ((line: LogLine) => void) | undefined, environment: Environment): Log {
  const log = openLog(write, environment.now)
  if (!write) return log
  return (event, fields, error) => {
    const span = trace.getSpanContext(context.active())
    log(event, {...fields, ...(span && {trace_id: span.traceId, span_id: span.spanId})}, error)
  }
}

/** What is refused to somebody who may be up to something, or whose device has gone wrong; the rest is everyday. */
const worthTelling = [
  'unauthenticated',
  'forbidden',
  'rate_limited',
  'budget_exhausted',
  'version_mismatch',
  'stale_epoch',
  'unavailable',
] as const
/** Anybody can be refused as often as they like, and must not fill a disk with it. [SYNC-6] */
const rate = {perSecond: 5, burst: 50}

/** Tells of refused requests, at most a few a second; the next line says how many were left out. */
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
    // A fault of the surroundings comes with its cause; a refusal is the caller's own doing.
    if (told.code === 'unavailable') log('server.unavailable', about, told)
    else log(told.code === 'stale_epoch' ? 'epoch.stale' : 'request.refused', about, {code: told.code})
    leftOut = 0
  }
}
