import * as z from 'zod'
import {errorBodySchema, HoldfastError} from '../protocol/errors.ts'
import {retryAfterMs} from '../protocol/retry-after.ts'
import {parseTolerant} from '../protocol/tolerant.ts'

/** Reads the complete body. Calls `heard` with the size of every part as it arrives. */
export async function readBytes({body}: Response, heard: (bytes: number) => void): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  const reader = body?.getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    pieces.push(piece.value)
    length += piece.value.length
    heard(piece.value.length)
  }
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

/**
 * Parses and checks the body of a successful response. Other content comes from something in between, such as a login
 * page.
 */
export function readJson<T>(schema: z.ZodType<T>, bytes: Uint8Array, what: string): T {
  const content = jsonOf(bytes)
  const answer = parseTolerant(schema, content)
  if (answer.success) return answer.data
  if (content === undefined) {
    const message =
      'A page that is not from the server was the answer, such as a login page. Check the network, or sign in there.'
    throw new HoldfastError('offline', message, {details: {intercepted: true, request: what}})
  }
  const [issue] = answer.error.issues
  throw new HoldfastError('offline', `${what}: the response is not from the server, or from another version of it`, {
    details: {field: issue?.path.join('.') ?? '', expected: issue?.message ?? 'JSON'},
  })
}

const answerSchema = z.object({error: errorBodySchema})

/**
 * Parses the server's error. An error page of a proxy or host becomes `offline`, because the request may or may not
 * have been processed. Both keep the pause that the response requested. [SYNC-4]
 */
export function readError({status, headers}: Response, bytes: Uint8Array, now: number): HoldfastError {
  const pause = retryAfterMs(headers, now)
  const asked: Record<string, number> = pause === null ? {} : {retryAfterMs: pause}
  const body = parseTolerant(answerSchema, jsonOf(bytes))
  if (!body.success) {
    const message = `The answer has status ${status} and is not from the server itself, but from something before it, such as a proxy or a login page.`
    return new HoldfastError('offline', message, {details: {status, intercepted: true, ...asked}})
  }
  const {details, ...error} = body.data.error
  return HoldfastError.fromBody({...error, details: {...asked, ...details}})
}

function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}
