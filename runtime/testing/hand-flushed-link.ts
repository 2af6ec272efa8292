import {HoldfastError} from '../protocol/errors.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import {proxied} from './crashable-store.ts'

/**
 * One message on its way. A request waits before the server has seen it, an answer after the server has done what was
 * asked and before the device has heard of it; a poke is a message of the live connection. Each is decided once.
 */
export interface Parcel {
  readonly type: 'request' | 'answer' | 'poke'
  /** The method of the link, like `push`. */
  readonly call: string
  /** What is sent, or what is answered. */
  readonly content: unknown
  /** Lets it arrive; resolves when the server has handled a request, at once for the others. */
  deliver(): Promise<void>
  /** Loses it: the device hears that the server cannot be reached, whether or not the server has done it. */
  drop(): void
  /** Lets it arrive twice, one after the other; of two answers of the server the second travels on. */
  duplicate(): Promise<void>
}

/** A link on which nothing arrives by itself until `flow` is called. */
export interface HandFlushedLink extends CuttableLink {
  /** What is on its way, in the order in which it was sent; decide them in any order. */
  readonly parcels: readonly Parcel[]
  /** The first parcel as wanted, now or as soon as there is one. */
  next(wanted?: (parcel: Parcel) => boolean): Promise<Parcel>
  /** From now on everything arrives at once, beginning with what is on its way. */
  flow(): void
  /** Holds everything again that is sent from now on. */
  hold(): void
}

/**
 * Puts every message between a device and its server into your hands: deliver, drop, duplicate, or let a later one pass
 * an earlier one.
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
    // Asked before anything else, and nothing a test would want to lose: what waits for it waits for a long time.
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

/** The request that opens the connection is held once; each of its messages is held for itself, and a lost one is lost. */
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

  /** What `arrive` comes to, once somebody has let it. */
  send<T>(label: Label, arrive: () => Promise<T>): Promise<T> {
    if (this.#flowing) return arrive()
    return new Promise<T>((resolve, reject) => {
      const decided = (work: () => Promise<T>) => {
        if (!this.#parcels.delete(parcel)) {
          throw new HoldfastError('refused', `${label.type} ${label.call}: this parcel has been decided before`)
        }
        const outcome = work()
        outcome.then(resolve, reject)
        // Whoever lets it arrive waits for it to have arrived, not for it to have been welcome.
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
