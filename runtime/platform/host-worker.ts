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
  /** What pages show of the storage. */
  storage?: StorageState
  /** Called when another worker takes the database over; a worker otherwise ends by being terminated. */
  close(): Promise<void>
}

export interface HostContext {
  name: string
  /** Names this leader's term; no two terms share it. */
  epoch: string
  /**
   * True when the database was taken from an owner that did not answer. That owner may hold the files, and may write to
   * them when it thaws: nothing that it writes from now on may be acknowledged.
   */
  tookOver: boolean
  /** Null if neither this worker nor its page knows of one. */
  lastOwner: LastOwner | null
  feed: Feed
  /**
   * For a database that stopped by itself: this worker answers nothing more, and its page starts another. The next owner,
   * in whatever tab, gets `rescued` as its `lastOwner.rescued`.
   */
  crash(error: HoldfastError, rescued?: unknown): void
}

export interface HostOptions<S, Config> {
  /** Called in the one worker that leads, after it holds the database's lock: nothing may be opened before. */
  open(config: Config, context: HostContext): Promise<Opened<S>>
  /** Methods that may be sent twice, because they read or carry an id made by the caller. */
  retry?: readonly (keyof S & string)[]
}

/**
 * Makes this dedicated worker one of a name's workers: it answers its page at once, opens the database if it leads
 * and passes calls on to the leader if it does not. Call it while the worker's module is first evaluated.
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
    // Others watch this lock from the first word that they exchange with this worker: it must be held before.
    declareAlive(name, id)
      .then(() => new Contender(options, start).run())
      .catch(error => target.fail(HoldfastError.from(error), {forGood: true}))
  })
}

function tell(message: ToPage): void {
  postMessage(message)
}
