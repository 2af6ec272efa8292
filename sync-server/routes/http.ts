import type {Context, Hono} from 'hono'
import type * as z from 'zod'
import {badInput, type ErrorCode, HoldfastError} from '../../runtime/protocol/errors.ts'
import {onlyUnknownFields} from '../../runtime/protocol/tolerant.ts'
import {wireRevision} from '../../runtime/protocol/version.ts'
import {revisionHeader} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'

export type Env = {Variables: {principal: Principal}}
export type App = Hono<Env>
export type Ctx = Context<Env>

type Status = 400 | 401 | 403 | 404 | 409 | 410 | 413 | 426 | 429 | 500 | 502 | 503 | 504

const statuses: Partial<Record<ErrorCode, Status>> = {
  bad_input: 400,
  unreadable_event: 400,
  unauthenticated: 401,
  token_expired: 401,
  other_person: 403,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  erased: 410,
  refused: 409,
  stale_epoch: 409,
  too_large: 413,
  version_mismatch: 426,
  rate_limited: 429,
  budget_exhausted: 429,
  model_failed: 502,
  unavailable: 503,
  deadline: 504,
}

export function statusOf(code: ErrorCode): Status {
  return statuses[code] ?? 500
}

/** Converts an error to a response. The message of an internal fault is not disclosed. */
export function errorAnswer(c: Context, error: unknown): Response {
  const known = error instanceof HoldfastError ? error : null
  const status = known ? statuses[known.code] : undefined
  // In seconds, rounded up: waiting a second too long costs less than another refusal.
  if (known?.code === 'rate_limited') c.header('retry-after', String(Math.ceil(Number(known.details.waitMs) / 1000)))
  if (known?.code === 'unavailable') return unavailableAnswer(c)
  if (known && status) return c.json({error: known.toBody()}, status)
  const fault = new HoldfastError('internal', 'The server failed; nothing of this request is known to have been kept.')
  return c.json({error: fault.toBody()}, 500)
}

const retryAfterSeconds = 2

/** The response does not disclose which dependency is unreachable; only the operator may know. */
function unavailableAnswer(c: Context): Response {
  const message = 'The server cannot reach what it needs for this at the moment. Try again in a few seconds.'
  const error = new HoldfastError('unavailable', message, {details: {waitMs: retryAfterSeconds * 1000}})
  c.header('retry-after', String(retryAfterSeconds))
  return c.json({error: error.toBody()}, 503)
}

/** True for errors that the operator should see: all that are not caused by the caller. */
export function isFault(error: unknown): boolean {
  return !(error instanceof HoldfastError) || statuses[error.code] === undefined
}

export async function readBody<Schema extends z.ZodType>(c: Ctx, schema: Schema): Promise<z.output<Schema>> {
  const body = schema.safeParse(parseJson(textOf(await c.req.arrayBuffer())))
  if (body.success) return body.data
  throw onlyUnknownFields(body.error) && isOfNewerDevice(c) ? newerDevice() : badInput('body', body.error)
}

/** True if the sender speaks a later revision of the protocol than this server. */
export function isOfNewerDevice(c: Ctx): boolean {
  const revision = c.req.header(revisionHeader) ?? ''
  return /^\d{1,9}$/.test(revision) && Number(revision) > wireRevision
}

/** The error for a newer device. It is not a verdict: the device keeps its events until the server is updated. */
export function newerDevice(): HoldfastError {
  const message = `The device writes a later revision of the protocol than this server reads, ${wireRevision}. Update the server first.`
  return new HoldfastError('version_mismatch', message, {details: {revision: wireRevision}})
}

/** Decodes strictly: a lenient decoder would store invalid UTF-8 as a different text than was sent. [LOG-5] */
function textOf(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(bytes)
  } catch {
    throw badBody('expected JSON in UTF-8')
  }
}

function parseJson(text: string): unknown {
  const expected = `expected at most ${bodyLevels} levels of nesting`
  if (levelsOf(text) > bodyLevels) throw badBody(expected)
  try {
    return JSON.parse(text)
  } catch {
    throw badBody('expected JSON')
  }
}

function badBody(expected: string): HoldfastError {
  return new HoldfastError('bad_input', `body: ${expected}`, {details: {what: 'body', issues: [{field: '', expected}]}})
}

/**
 * Maximum nesting of a JSON body, far above the limit of any value, whose own check names the field. Checked on the
 * text, because recursive code on the parsed value could overflow the stack.
 */
const bodyLevels = 1000

function levelsOf(text: string): number {
  let [open, most, quoted] = [0, 0, false]
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (quoted) {
      if (character === '\\') at++
      else if (character === '"') quoted = false
    } else if (character === '"') quoted = true
    else if (character === '[' || character === '{') most = Math.max(most, ++open)
    else if (character === ']' || character === '}') open--
  }
  return most
}
