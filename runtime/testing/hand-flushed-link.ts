import {HoldfastError} from '../protocol/errors.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import {proxied} from './crashable-store.ts'

/**
 * A message in transit: a request that the server has not received, an answer that the device has not received, or a
 * message of the live connection (`poke`). Each is delivered, dropped or duplicated once.
 */
export interface Parcel {
  readonly type: 'request' | 'answer' | 'poke'
  /** The method of the link, like `push`. */
  readonly call: string
  /** The arguments of a request, or the value of an answer. */
  readonly content: unknown
  /** Delivers it. For a request, resolves when the server has handled it. */
  deliver(): Promise<void>
  /** Drops it. The device gets the error `offline`, whether or not the server has handled the request. */
  drop(): void
  /** Delivers it twice, one after the other. The device gets the second answer of the server. */
  duplicate(): Promise<void>
}

/** A link that holds every message until the test delivers it or calls `flow`. */
export interface HandFlushedLink extends CuttableLink {
  /** The messages in transit, in the order in which they were sent. They can be decided in any order. */
  readonly parcels: readonly Parcel[]
  /** Resolves with the first message that matches, now or as soon as there is one. */
  next(wanted?: (parcel: Parcel) => boolean): Promise<Parcel>
  /** Delivers the messages in transit, and from now on every message at once. */
  flow(): void
  /** Holds every message again from now on. */
  hold(): void
}

/**
 * Wraps a link so that a test decides about every message between a device and its server: deliver, drop, duplicate, or
 * deliver a later one first.
 *
 * @example
 * const link = handFlushed(httpLink({url, token, fetch: server.fetch}))
 * const push = await link.next(({call}) => call === 'push')
 * await push.deliver()
 * const answer = await link.next(({type, call}) => type === 'answer' && call === 'push')
 * answer.drop() // the server has the events, and the device does not know it
 */
export function handFlushed(link: CuttableLink): HandFlushedLink {
  const post = new Post()
  const own: Partial<Record<PropertyKey, unknown>> = {
    next: (wanted: (parcel: Parcel) => boolean = () => true) => post.next(wanted),
    flow: () => post.flow(),
    hold: () => post.hold(),
    live: (onMessage: (message: LiveMessage) => void, signal: AbortSignal) => live(link, post, onMessage, signal),
    // The first request of a device. It is not held: a device without its answer waits for a long time.
    me: () => link.me(),
    actFor: (who: Parameters<CuttableLink['actFor']>[0], onOther?: () => void) => link.actFor(who, onOther),
    setOnline: (online: boolean) => {
      link.setOnline(online)
      if (!online) post.dropAll()
    },
  }
  const wrapped = proxied(
    link,
    (name, method) =>
      own[name] ??
      (async (...args: unknown[]) => {
        const answer = await post.send({type: 'request', call: String(name), content: args}, () => method(...args))
        await post.send({type: 'answer', call: String(name), content: answer}, async () => undefined)
        return answer
      }),
  )
  return new Proxy(wrapped, {
    get: (target, name) => (name === 'parcels' ? post.parcels : (own[name] ?? Reflect.get(target, name))),
  }) as HandFlushedLink
}

/** Holds the request that opens the connection, then each of its messages separately. A dropped message stays lost. */
async function live(
  link: CuttableLink,
  post: Post,
  onMessage: (message: LiveMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  await post.send({type: 'request', call: 'live', content: []}, async () => undefined)
  const hear = (message: LiveMessage) =>
    void post
      .send({type: 'poke', call: message.type, content: message}, async () => {
        if (!signal.aborted) onMessage(message)
      })
      .catch(() => undefined)
  await link.live(hear, signal)
}

type Label = Pick<Parcel, 'type' | 'call' | 'content'>

class Post {
  readonly #parcels = new Set<Parcel>()
  readonly #waiting = new Set<() => void>()
  #flowing = false

  get parcels(): readonly Parcel[] {
    return [...this.#parcels]
  }

  /** Resolves with the result of `arrive` after the test has delivered it. */
  send<T>(label: Label, arrive: () => Promise<T>): Promise<T> {
    if (this.#flowing) return arrive()
    return new Promise<T>((resolve, reject) => {
      const decided = (work: () => Promise<T>) => {
        if (!this.#parcels.delete(parcel)) {
          throw new HoldfastError('refused', `${label.type} ${label.call}: this parcel has been decided before`)
        }
        const outcome = work()
        outcome.then(resolve, reject)
        // The test waits for the delivery, not for a successful result.
        return outcome.then(
          () => undefined,
          () => undefined,
        )
      }
      const parcel: Parcel = {
        ...label,
        deliver: async () => await decided(arrive),
        drop: () =>
          void decided(() => Promise.reject(new HoldfastError('offline', `${label.call}: the ${label.type} was lost`))),
        duplicate: async () =>
          await decided(async () => {
            await arrive().catch(() => undefined)
            return await arrive()
          }),
      }
      this.#parcels.add(parcel)
      for (const look of [...this.#waiting]) look()
    })
  }

  next(wanted: (parcel: Parcel) => boolean): Promise<Parcel> {
    return new Promise(resolve => {
      const look = () => {
        const found = this.parcels.find(wanted)
        if (!found) return
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }

  flow(): void {
    this.#flowing = true
    for (const parcel of this.parcels) void parcel.deliver()
  }

  hold(): void {
    this.#flowing = false
  }

  dropAll(): void {
    for (const parcel of this.parcels) parcel.drop()
  }
}
