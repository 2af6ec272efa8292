import * as Comlink from 'comlink'
import {type ErrorBody, HoldfastError} from '../protocol/errors.ts'
import {type Deadlines, deadlineOf, withDeadline} from './deadline.ts'
import {giveAway, isGivenAway} from './give-away.ts'

/**
 * Comlink is used only in this file. It loses an error's class, code and cause, and a call to a dead peer never settles.
 * Therefore results and errors travel in an envelope, and every call has a deadline. [CUS-5]
 */
export type Endpoint = Comlink.Endpoint

/** The remote form of a service: each method returns a promise. */
export type Remote<S> = {
  [K in keyof S]: S[K] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never
}

export interface Connection<S> {
  service: Remote<S>
  /** Calls a method by name, for code that forwards calls. */
  call(method: string, args: unknown[]): Promise<unknown>
  /** Rejects all pending and later calls with `peer_gone`. */
  fail(reason: string): void
  close(): void
}

type Envelope = {ok: true; value: unknown} | {ok: false; error: ErrorBody}
interface Switchboard {
  call(method: string, args: unknown[]): Promise<Envelope>
}

/**
 * Serves the methods of `service` to the other side of `endpoint`. Arguments and results are structured clones. Returns a
 * function that stops serving.
 *
 * @example
 * const stop = exposeService({add: async (a: number, b: number) => a + b}, port1)
 */
export function exposeService(service: object, endpoint: Endpoint): () => void {
  const guarded = closable(endpoint)
  const switchboard: Switchboard = {call: (method, args) => answer(service, method, args)}
  Comlink.expose(switchboard, guarded.endpoint)
  return guarded.close
}

async function answer(service: object, method: string, args: unknown[]): Promise<Envelope> {
  try {
    const value = await methodOf(service, method).apply(service, args)
    const envelope: Envelope = {ok: true, value}
    return isGivenAway(value) ? Comlink.transfer(envelope, [value.buffer]) : envelope
  } catch (error) {
    return {ok: false, error: HoldfastError.from(error).toBody()}
  }
}

function methodOf(service: object, method: string): (...args: unknown[]) => unknown {
  const found: unknown = method in Object.prototype ? undefined : Reflect.get(service, method)
  if (typeof found === 'function') return found as (...args: unknown[]) => unknown
  throw new HoldfastError('not_found', `The service has no method "${method}".`, {details: {method}})
}

/**
 * Connects to a service that the other side of `endpoint` exposes. Each call rejects after its deadline.
 *
 * @example
 * const {service} = connectService<{add(a: number, b: number): Promise<number>}>(port2, {deadlineMs: 1_000})
 * await service.add(1, 2)
 */
export function connectService<S extends object>(endpoint: Endpoint, options: Deadlines = {}): Connection<S> {
  const guarded = closable(endpoint)
  const remote = Comlink.wrap<Switchboard>(guarded.endpoint)
  const pending = new Set<(error: HoldfastError) => void>()
  let gone: HoldfastError | undefined

  function call(method: string, args: unknown[]): Promise<unknown> {
    if (gone) return Promise.reject(gone)
    const answered = new Promise((resolve, reject) => {
      pending.add(reject)
      remote
        .call(method, args)
        .then(open, unsent)
        .then(resolve, reject)
        .finally(() => pending.delete(reject))
    })
    return withDeadline(deadlineOf(options, method), method, answered)
  }

  function fail(reason: string): void {
    gone ??= new HoldfastError('peer_gone', reason)
    for (const reject of pending) reject(gone)
    pending.clear()
    guarded.close()
  }

  return {service: methodProxy<S>(call), call, fail, close: () => fail('This connection was closed.')}
}

function open(envelope: Envelope): unknown {
  // Received bytes have no other user, so a follower may transfer them on to its page.
  if (envelope.ok && envelope.value instanceof Uint8Array) giveAway(envelope.value as Uint8Array<ArrayBuffer>)
  if (envelope.ok) return envelope.value
  throw HoldfastError.fromBody(envelope.error)
}

/** The switchboard never throws, so this error means that an argument or the result could not be cloned. */
function unsent(error: unknown): never {
  throw HoldfastError.from(error, 'bad_input')
}

/** Returns an object whose methods all forward to `call`. */
export function methodProxy<S extends object>(call: (method: string, args: unknown[]) => Promise<unknown>): Remote<S> {
  const get = (_target: object, method: string | symbol) => {
    // A promise that resolves with this object reads `then`, which must not become a remote call.
    if (typeof method === 'symbol' || method === 'then') return undefined
    return (...args: unknown[]) => call(method, args)
  }
  return new Proxy({}, {get}) as Remote<S>
}

/** Wraps `endpoint` so that it can be closed. Comlink never removes its listener, and posts when its proxy is collected. */
function closable(endpoint: Endpoint): {endpoint: Endpoint; close: () => void} {
  const listeners = new Map<EventListenerOrEventListenerObject, string>()
  let closed = false
  const guarded: Endpoint = {
    postMessage: (message, transfer) => {
      if (!closed) endpoint.postMessage(message, transfer ?? [])
    },
    addEventListener: (type, listener) => {
      listeners.set(listener, type)
      endpoint.addEventListener(type, listener)
    },
    removeEventListener: (type, listener) => {
      listeners.delete(listener)
      endpoint.removeEventListener(type, listener)
    },
    start: () => endpoint.start?.(),
  }
  const close = () => {
    closed = true
    for (const [listener, type] of listeners) endpoint.removeEventListener(type, listener)
    listeners.clear()
  }
  return {endpoint: guarded, close}
}
