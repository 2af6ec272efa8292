import {HoldfastError} from '../protocol/errors.ts'
import {type Deadlines, delay} from './deadline.ts'
import {type Feed, openFeed} from './feed.ts'
import {declareAlive, type Leadership, type Link, openLeadership} from './leadership.ts'
import {channelNames, holdLock} from './locks.ts'
import {connectService, exposeService, methodProxy} from './rpc.ts'
import {type Call, createTarget, type Target} from './target.ts'
import {isOurs, type Role, type ToPage, type ToWorker} from './worker-messages.ts'

export interface Opened<S> {
  service: S
  /** Called only if the lock was taken away; a worker otherwise ends by being terminated. */
  close(): Promise<void>
}

export interface HostContext {
  name: string
  /** Names this leader's term; no two terms share it. */
  epoch: string
  feed: Feed
  /** For a database that stopped by itself: this worker answers nothing more, and its page starts another. */
  crash(error: HoldfastError): void
}

export interface HostOptions<S, Config> {
  /** Called in the one worker that leads, after it holds the database's lock: nothing may be opened before. */
  open(config: Config, context: HostContext): Promise<Opened<S>>
  /** Methods that may be sent twice, because they read or carry an id made by the caller. */
  retry?: readonly (keyof S & string)[]
}

const openAttempts = 5

/**
 * Makes this dedicated worker one of a name's workers: it answers its page at once, opens the database if it leads
 * and passes calls on to the leader if it does not. Call it while the worker's module is first evaluated.
 *
 * @example
 * hostWorker({open: async (config: {shop: string}) => openDesk(config), retry: ['read', 'append']})
 */
export function hostWorker<S extends object, Config>(options: HostOptions<S, Config>): void {
  addEventListener('message', event => {
    const message: unknown = event.data
    if (!isOurs<ToWorker>(message)) return
    if (message.holdfast === 'ping') return tell({holdfast: 'pong'})
    const target = createTarget(options.retry ?? [])
    const hide = exposeService(methodProxy(target.call), message.port)
    tell({holdfast: 'ready', retry: options.retry ?? []})
    run(options, message.name, message.config as Config, message.deadlines, {target, hide}).catch(error =>
      target.fail(HoldfastError.from(error), {forGood: true}),
    )
  })
}

async function run<S extends object, Config>(
  options: HostOptions<S, Config>,
  name: string,
  config: Config,
  deadlines: Deadlines,
  {target, hide}: {target: Target; hide(): void},
): Promise<void> {
  const id = crypto.randomUUID()
  await declareAlive(name, id)
  const leadership = openLeadership(name, id, link => follow(link, target, deadlines))
  let opened: Opened<S> | undefined
  const crash = (error: HoldfastError) => {
    // While it is being opened the open itself fails, and is tried again here.
    if (!opened) return
    // Who waits is told by its own side that nobody answers any more, and asks the next: no call may get an answer now.
    hide()
    leadership.close()
    reportError(error)
    // Its page may be frozen and replace nothing: the lock must not wait for that.
    self.close()
  }
  const context: HostContext = {name, epoch: id, feed: openFeed(name), crash}
  for (let attempt = 1; attempt <= openAttempts; attempt++) {
    const release = await holdLock(channelNames.owner(name), () => yieldTo(opened, leadership, target))
    try {
      opened = await options.open(config, context)
      lead(opened.service, leadership, target)
      return
    } catch (error) {
      release()
      target.fail(HoldfastError.from(error), {forGood: attempt === openAttempts})
      await delay(250 * 2 ** attempt)
    }
  }
}

function lead(service: object, leadership: Leadership, target: Target): void {
  leadership.lead(link => exposeService(service, link.channel))
  target.set(localCall(service))
  showRole('leader')
}

/** Whoever stole the lock owns the database now. This worker crashes on purpose, and its page starts another. */
async function yieldTo(opened: Opened<object> | undefined, leadership: Leadership, target: Target): Promise<void> {
  const error = new HoldfastError('peer_gone', 'Another worker took this database over.')
  leadership.close()
  target.fail(error, {forGood: true})
  await opened?.close().catch(() => {})
  reportError(error)
}

function localCall(service: object): Call {
  return async (method, args) => {
    const found: unknown = Reflect.get(service, method)
    if (typeof found === 'function') return found.apply(service, args)
    throw new HoldfastError('not_found', `The service has no method "${method}".`, {details: {method}})
  }
}

function follow(link: Link, target: Target, deadlines: Deadlines): () => void {
  const connection = connectService(link.channel, deadlines)
  target.set(connection.call)
  // From one leader straight to the next is a change of owner too, and pages look again when the owner changes.
  showRole('starting')
  showRole('follower')
  return () => {
    if (target.unset(connection.call)) showRole('starting')
    connection.fail('The worker that leads went away before it answered.')
  }
}

function showRole(role: Role): void {
  tell({holdfast: 'role', role})
}

function tell(message: ToPage): void {
  postMessage(message)
}
