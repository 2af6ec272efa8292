import {HoldfastError} from '../protocol/errors.ts'
import type {StorageState} from '../protocol/recovery.ts'
import {Contender} from './contender.ts'
import type {Feed} from './feed.ts'
import type {LastOwner} from './last-owner.ts'
import {declareAlive} from './leadership.ts'
import {exposeService, methodProxy} from './rpc.ts'
import {createTarget} from './target.ts'
import {isOurs, type ToPage, type ToWorker} from './worker-messages.ts'

export interface Opened<S> {
  service: S
  /** The storage state that pages display. */
  storage?: StorageState
  /** Called when another worker takes over the database. In all other cases the worker is terminated without this call. */
  close(): Promise<void>
}

export interface HostContext {
  name: string
  /** Unique id of this leader's term. */
  epoch: string
  /**
   * True when the lock was stolen from an owner that did not answer. That owner may still hold the files and may write to
   * them when it resumes. None of those writes may be acknowledged.
   */
  tookOver: boolean
  /** Null when neither this worker nor its page knows a previous owner. */
  lastOwner: LastOwner | null
  feed: Feed
  /**
   * Reports that the database engine has stopped. This worker terminates and its page starts a new one. The next owner in
   * any tab receives `rescued` as `lastOwner.rescued`.
   */
  crash(error: HoldfastError, rescued?: unknown): void
}

export interface HostOptions<S, Config> {
  /** Called in the leader after it holds the database's lock. Open no files before this call. */
  open(config: Config, context: HostContext): Promise<Opened<S>>
  /** Idempotent methods: they only read, or carry an id made by the caller. */
  retry?: readonly (keyof S & string)[]
}

/**
 * Runs this dedicated worker as a candidate for leadership of a database. It accepts calls from its page at once. As the
 * leader it opens the database, as a follower it forwards calls to the leader. Call it synchronously while the worker's
 * module is evaluated.
 *
 * @example
 * hostWorker({open: async (config: {shop: string}) => openDesk(config), retry: ['read', 'append']})
 */
export function hostWorker<S extends object, Config>(options: HostOptions<S, Config>): void {
  const id = crypto.randomUUID()
  addEventListener('message', event => {
    const message: unknown = event.data
    if (!isOurs<ToWorker>(message)) return
    if (message.holdfast === 'ping') return tell({holdfast: 'pong'})
    const {name, config, port, deadlines, loadedAt, lastOwner} = message
    const target = createTarget(options.retry ?? [])
    const hide = exposeService(methodProxy(target.call), port)
    tell({holdfast: 'ready', retry: options.retry ?? [], worker: id})
    const build = {id: message.build ?? location.href, ordered: message.build !== null, loadedAt}
    const start = {id, name, config: config as Config, deadlines, build, target, hide, tell, lastOwner}
    // Other workers watch this lock from the first message on, so acquire it before any message is sent.
    declareAlive(name, id)
      .then(() => new Contender(options, start).run())
      .catch(error => target.fail(HoldfastError.from(error), {forGood: true}))
  })
}

function tell(message: ToPage): void {
  postMessage(message)
}
