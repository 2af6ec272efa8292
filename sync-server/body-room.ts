import type {MiddlewareHandler} from 'hono'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {limits} from '../runtime/protocol/version.ts'
import type {Env} from './routes/http.ts'

/** Maximum bytes of request bodies held at once, per subject and in this process. */
export type BodyRoom = {subject: number; process: number}

/**
 * Per subject: four of the largest blobs. A body stays in memory until its sender has sent all of it, however slowly.
 */
export const standardBodyRoom: BodyRoom = {subject: 4 * limits.blobBytes, process: 64 * limits.blobBytes}

const retryMs = 1000

/**
 * Limits the size of a body, and the bytes of all bodies being received. A body with a declared length reserves its
 * bytes at once; other bodies are counted as they arrive.
 *
 * @throws HoldfastError `too_large`, `rate_limited`, or `bad_input` for a body with a content encoding
 */
export function bodyRoom(room: BodyRoom, bytesOf: (method: string) => number): MiddlewareHandler<Env> {
  const held = new Map<string, number>()
  const add = (key: string, by: number) => {
    const next = (held.get(key) ?? 0) + by
    if (next > 0) held.set(key, next)
    else held.delete(key)
  }
  return async (c, next) => {
    const request = c.req.raw
    if (c.req.method === 'GET' || c.req.method === 'HEAD' || !request.body) return next()
    refuseEncoding(c.req.header('content-encoding'))
    const {tenant, subject} = c.get('principal')
    const places = {subject: JSON.stringify([tenant, subject]), process: ''}
    const most = bytesOf(c.req.method)
    let taken = 0
    const take = (bytes: number) => {
      if (taken + bytes > most) throw tooLarge(most)
      for (const of of ['subject', 'process'] as const) {
        if ((held.get(places[of]) ?? 0) + bytes > room[of]) throw noRoom(of)
      }
      taken += bytes
      for (const key of Object.values(places)) add(key, bytes)
    }
    try {
      const declared = declaredLength(c.req.header('content-length'), c.req.header('transfer-encoding'))
      if (declared !== null) take(declared)
      else c.req.raw = new Request(request, {body: counted(request.body, take), duplex: 'half'} as RequestInit)
      await next()
    } finally {
      for (const key of Object.values(places)) add(key, -taken)
    }
  }
}

function declaredLength(length: string | undefined, transfer: string | undefined): number | null {
  return length !== undefined && transfer === undefined && /^\d{1,15}$/.test(length) ? Number(length) : null
}

function counted(body: ReadableStream<Uint8Array>, take: (bytes: number) => void): ReadableStream<Uint8Array> {
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        take(chunk.byteLength)
        controller.enqueue(chunk)
      },
    }),
  )
}

/** Without this check, an encoded body would fail later as invalid JSON, or be stored encoded. */
function refuseEncoding(encoding: string | undefined): void {
  if (encoding === undefined || encoding.toLowerCase() === 'identity') return
  const expected = 'expected none; send the body as it is'
  throw new HoldfastError('bad_input', `content-encoding: ${expected}`, {
    details: {what: 'content-encoding', issues: [{field: '', expected}]},
  })
}

function tooLarge(bytes: number): HoldfastError {
  return new HoldfastError('too_large', `body: at most ${bytes} bytes are taken`, {details: {limit: bytes}})
}

function noRoom(of: 'subject' | 'process'): HoldfastError {
  const whose = of === 'subject' ? 'This subject sends' : 'All subjects together send'
  return new HoldfastError('rate_limited', `${whose} too many bytes at once. Send one body after the other.`, {
    details: {of, waitMs: retryMs},
  })
}
