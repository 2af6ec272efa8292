import {type ErrorCode, HoldfastError} from './errors.ts'
import type {TelemetryFields} from './telemetry.ts'
import type {EventVerdict} from './wire.ts'

/** What can be told, how grave it is, and the fixed words for it: no line has words that somebody else chose. [VIEW-5] */
export const logEvents = {
  'server.started': ['info', 'The server has picked up what an earlier process left, and keeps watch.'],
  'server.stopped': ['info', 'The server has ended its streams and its running work.'],
  'server.fault': ['error', 'The server or application code failed.'],
  'server.unavailable': [
    'error',
    'The database or the key server cannot be reached; requests are answered with status 503.',
  ],
  'database.stopped': [
    'error',
    'The database has stopped; requests are answered with status 503 until it is open again.',
  ],
  'database.reopened': ['info', 'The database is open again.'],
  'request.refused': ['warn', 'A request was refused.'],
  'event.refused': ['warn', 'The server refused or changed events that a device pushed.'],
  'decision.refused': ['warn', 'Somebody tried what they may not decide, or on a record that had moved.'],
  'epoch.stale': ['warn', 'Work came under an epoch that is over.'],
  'run.started': ['info', 'A run has started.'],
  'run.resumed': ['info', 'A run goes on that another process, or another device, had begun.'],
  'run.failed': ['warn', 'A run has failed.'],
  'step.failed': ['warn', 'A step of a run has failed.'],
  'operation.uncertain': ['warn', 'Whether an operation took effect is not known.'],
  'operation.reconciled': ['info', 'The outcome of an uncertain operation is now known.'],
  'model.failed': ['warn', 'A call of a model provider failed.'],
  'operation.given_up': ['error', 'The check of an operation failed too often; the operation was refused.'],
  'due.failed': ['error', 'Scheduled work failed; it is retried later.'],
  'webhook.given_up': ['error', 'A webhook was abandoned after its last retry.'],
  'erasure.done': ['info', 'An erasure has reached every layer of the server.'],
  'sweep.done': ['info', 'A sweep has ended what its time had come for.'],
  'sweep.failed': ['error', 'A sweep has failed; the next one tries again.'],
  'bus.lost': ['warn', 'The connection that pokes between processes travel on is gone; it is opened again.'],
  'bus.restored': ['info', 'Pokes between processes travel again; whatever was missed meanwhile is looked at.'],
  'sync.refused': ['warn', 'The server has refused what this device sent.'],
  'storage.recovered': [
    'warn',
    'The database of this device was not as it had been left; what was found was restored.',
  ],
  'session.stopped': ['error', 'A session rests: its next step failed before a run could record the failure.'],
  'tool.no_server': ['warn', 'This runtime has no server, so a call of this external tool ends with an error.'],
  'storage.fault': ['error', 'A session rests: its database does not take what would have to be written.'],
} as const satisfies Record<string, readonly [LogLevel, string]>

export type LogLevel = 'info' | 'warn' | 'error'
export type LogEvent = keyof typeof logEvents

/**
 * One thing that an operator may have to know. `fields` have the names of the attributes of spans [OBS-1], as far as they
 * are known where it happened.
 */
export type LogLine = {
  /** Milliseconds since 1970. */
  time: number
  level: LogLevel
  event: LogEvent
  message: string
  fields: TelemetryFields
  error?: LoggedError
}

export type LoggedError = {
  /** Of a `HoldfastError` its code, of any other its class. */
  code: string
  /** What the system underneath calls it, say `ECONNREFUSED` or a code of Postgres. */
  system?: string
  /** Its words, where they can be nobody's but the host's own. */
  words?: string
  /** Where it was thrown, innermost first. */
  frames?: string[]
}

export type Log = (event: LogEvent, fields: TelemetryFields, error?: LoggedError) => void

/**
 * Makes lines and hands them to `write`, whose own failure is nobody else's. A port, not OpenTelemetry's log bridge: the
 * stable API that we build on has traces and metrics only, the bridge is a package of its own that is not stable yet, and
 * one function is what any logger, that bridge included, can stand behind.
 */
export function openLog(write: ((line: LogLine) => void) | undefined, now: () => number): Log {
  if (!write) return () => undefined
  return (event, fields, error) => {
    const [level, message] = logEvents[event]
    try {
      write({time: now(), level, event, message, fields, ...(error && {error})})
    } catch {
      // Whoever cannot write a line must not lose a run for it.
    }
  }
}

/** How many events of a push were refused with each code: a line a code, however many events got it. */
export function refusedByCode(verdicts: readonly EventVerdict[]): ReadonlyMap<ErrorCode, number> {
  const counts = new Map<ErrorCode, number>()
  for (const verdict of verdicts) {
    if (verdict.status !== 'rejected') continue
    const {code} = verdict.error
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  return counts
}

/**
 * Codes whose messages contain only text of the host. Other messages may hold text of a person, a model or a tool.
 * [VIEW-5]
 */
const ownWords = ['misconfigured', 'database_locked', 'database_damaged', 'unavailable'] as const
const mostFrames = 8

/** What may be told of an error: everything but its words, unless they are the host's own. [VIEW-5] */
export function loggedError(error: unknown): LoggedError {
  const system = systemCode(error) ?? systemCode(causeOf(error))
  const frames = framesOf(error)
  return {
    code: errorType(error),
    ...(system && {system}),
    ...(HoldfastError.is(error, ...ownWords) && {words: error.message}),
    ...(frames.length > 0 && {frames}),
  }
}

/** Of a `HoldfastError` its code, of any other error its class. */
export function errorType(error: unknown): string {
  if (HoldfastError.is(error)) return error.code
  return error instanceof Error ? error.name : 'unknown'
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined
}

function systemCode(error: unknown): string | null {
  if (HoldfastError.is(error) || !(error instanceof Error) || !('code' in error)) return null
  const {code} = error
  return typeof code === 'string' && /^[A-Z0-9_]{2,40}$/.test(code) ? code : null
}

/** A stack begins with the words of its error, over as many lines as they have. */
function framesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return []
  const {stack = '', message} = error
  const words = stack.indexOf(message)
  if (words < 0) return []
  const lines = stack.slice(words + message.length).split('\n')
  return lines.flatMap(line => /^\s+at (.+)$/.exec(line)?.[1] ?? []).slice(0, mostFrames)
}
