import {once} from 'node:events'
import type {IncomingMessage} from 'node:http'
import {setTimeout as wait} from 'node:timers/promises'

/** Unread bytes up to this size are drained, so that the connection can serve the next request. */
const smallBytes = 64 * 1024
const drainMs = 500

/**
 * Adds `connection: close` to an HTTP/1.1 error response if a large part of the request body was not read: the unread
 * part would precede the next request. Drains the body for up to `drainMs` first, because a client that is still
 * sending may lose the response when the connection closes.
 */
export async function closeAfterUnread(answer: Response, incoming: IncomingMessage): Promise<Response> {
  if (incoming.httpVersionMajor !== 1 || incoming.complete || answer.status < 400 || restOf(incoming) <= smallBytes) {
    return answer
  }
  incoming.on('error', () => undefined)
  incoming.resume()
  const ended = new AbortController()
  await Promise.race([
    once(incoming, 'end', {signal: ended.signal}),
    once(incoming, 'close', {signal: ended.signal}),
    wait(drainMs, undefined, {ref: false, signal: ended.signal}),
  ]).catch(() => undefined)
  ended.abort()
  const headers = new Headers(answer.headers)
  headers.set('connection', 'close')
  return new Response(answer.body, {status: answer.status, statusText: answer.statusText, headers})
}

function restOf({headers}: IncomingMessage): number {
  return headers['content-length'] === undefined ? Number.POSITIVE_INFINITY : Number(headers['content-length'])
}
