import * as z from 'zod'
import {fieldFaults} from './field-faults.ts'
import {redactSecrets, redactText} from './redact-secrets.ts'
import {thrownWords} from './thrown-words.ts'

/**
 * One sentence per code: what was expected. The message of a thrown error adds what came instead.
 * A code is wire format: rename one only together with the protocol version.
 */
export const errorMeanings = {
  bad_input: 'A value did not match what this call expects.',
  unauthenticated: 'The request carries no valid token.',
  token_expired: 'The token has expired; ask for a new one and try again.',
  other_person: 'The request or the files on this device belong to another person.',
  rate_limited: 'Too many requests; the details say how long to wait.',
  forbidden: 'The caller may not do this.',
  not_found: 'No such record, or it belongs to somebody else.',
  erased: 'The session was erased on request or when its time was over; nothing more can be added to it.',
  too_large: 'A value is larger than the stated limit.',
  conflict: 'The record already holds different content under this id.',
  refused: 'The state met does not allow this; the details name what is legal instead.',
  stale_epoch: 'Custody of this session has moved on; the epoch given is no longer current.',
  unreadable_event: 'The log holds an event that this version cannot read; update before continuing.',
  offline: 'The server cannot be reached from here.',
  deadline: 'No answer came within the deadline; the outcome is unknown.',
  peer_gone: 'The other side went away before it answered; the outcome is unknown.',
  cancelled: 'The caller cancelled this.',
  database_locked: 'Another process or tab holds this database.',
  database_damaged: 'The database could not be opened whole.',
  backlog_full: 'Too many events wait for the server; no more are accepted until it has received some of them.',
  unavailable: 'A service that this request needs cannot be reached at the moment; the same request may succeed later.',
  storage_full: 'The device has no room left for this write.',
  not_durable: 'A write could not be made durable.',
  model_failed: 'The model call failed.',
  budget_exhausted: 'The tenant has used up what it may spend; the details say how much and when there is room again.',
  tool_failed: 'The tool call failed.',
  misconfigured: 'The configuration given cannot work.',
  version_mismatch: 'The two sides speak different protocol versions.',
  internal: 'Something failed that should not have; this is a fault in Holdfast or in the code it was given.',
} as const

export type ErrorCode = keyof typeof errorMeanings
export const errorCodes = Object.keys(errorMeanings) as [ErrorCode, ...ErrorCode[]]

/** How an error travels between worker, tab and server. `cause` is flattened to its message: stacks stay at home. */
export const errorBodySchema = z.object({
  code: z.enum(errorCodes),
  message: z.string(),
  details: z.record(z.string(), z.json()).optional(),
  cause: z.string().optional(),
})
export type ErrorBody = z.infer<typeof errorBodySchema>
export type ErrorDetails = NonNullable<ErrorBody['details']>

/**
 * The only error class that Holdfast throws on purpose: a `code` to switch on, one sentence to read, and details.
 * Whatever its words were made of, no known shape of a credential is left in them. [VIEW-5]
 *
 * @example
 * try { await session.send('') } catch (error) {
 *   if (HoldfastError.is(error, 'bad_input')) console.log(error.details)
 * }
 */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, options: {details?: ErrorDetails; cause?: unknown} = {}) {
    super(redactText(message), options.cause === undefined ? undefined : {cause: options.cause})
    this.code = code
    this.details = options.details ?? {}
  }

  static is(error: unknown, ...codes: ErrorCode[]): error is HoldfastError {
    return error instanceof HoldfastError && (codes.length === 0 || codes.includes(error.code))
  }

  /** Wraps anything thrown; a HoldfastError passes through unchanged. */
  static from(error: unknown, fallback: ErrorCode = 'internal'): HoldfastError {
    if (error instanceof HoldfastError) return error
    return new HoldfastError(fallback, thrownWords(error), {cause: error})
  }

  static fromBody(body: ErrorBody): HoldfastError {
    return new HoldfastError(body.code, body.message, {
      ...(body.details && {details: body.details}),
      ...(body.cause !== undefined && {cause: new Error(body.cause)}),
    })
  }

  toBody(): ErrorBody {
    const cause = this.cause instanceof Error ? redactText(this.cause.message) : undefined
    return {
      code: this.code,
      message: this.message,
      ...(Object.keys(this.details).length > 0 && {details: redactSecrets(this.details) as ErrorDetails}),
      ...(cause !== undefined && cause !== this.message && {cause}),
    }
  }
}

/** Whether a write of this device could not be stored. After `peer_gone`, its outcome is unknown. */
export function isStorageFault(error: unknown): boolean {
  return HoldfastError.is(error, 'not_durable', 'storage_full', 'database_damaged', 'database_locked', 'peer_gone')
}

/**
 * Whether the request failed only because the server could not be reached or did not accept the caller now. The same
 * request may succeed later.
 */
export function isOutOfReach(error: unknown): boolean {
  return HoldfastError.is(
    error,
    'offline',
    'deadline',
    'unauthenticated',
    'token_expired',
    'other_person',
    'rate_limited',
    'unavailable',
    // Until the older of the two sides is updated.
    'version_mismatch',
  )
}

/**
 * Parses at a boundary; the error names the first field that is wrong, what was expected there and what came instead.
 *
 * @throws HoldfastError `bad_input`
 */
export function parse<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.output<Schema> {
  const result = checked(schema, value, what)
  if (result.success) return result.data
  throw badInput(what, result.error, value, schema)
}

/** A getter or proxy of the caller may throw while it is read. */
function checked<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string) {
  try {
    return schema.safeParse(value)
  } catch (cause) {
    throw new HoldfastError('bad_input', `${what}: expected plain data, but reading it threw an error`, {cause})
  }
}

export function badInput(
  what: string,
  error: z.ZodError,
  value?: unknown,
  schema: z.ZodType | null = null,
): HoldfastError {
  const issues = fieldFaults(error, value, schema)
  const first = issues[0] ?? {field: '', expected: 'a valid value'}
  const where = first.field ? `${what}.${first.field}` : what
  return new HoldfastError('bad_input', `${where}: ${first.expected}`, {details: {what, issues}})
}
