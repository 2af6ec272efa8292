import {HoldfastError} from '../protocol/errors.ts'
import {deadlineOf, withDeadline} from './deadline.ts'
import {openFeed} from './feed.ts'
import {requireFeatures} from './locks.ts'
import {createObservable} from './observable.ts'
import type {WorkerStart} from './page-worker.ts'
import {methodProxy, type Remote} from './rpc.ts'
import {createTarget} from './target.ts'
import {keepWorker} from './worker-keeper.ts'
import type {Role} from './worker-messages.ts'

/** Added to a call's deadline while the database is being opened: a first open on a busy phone takes its time. */
const openingMs = 120_000

export interface WorkerClient<S> {
  service: Remote<S>
  /** Terminates this page's worker and starts another, as a crash would. */
  kill(): void
  listen<Frame>(topic: string, listener: (frame: Frame) => void): () => void
  role(): Role
  onRole(listener: (role: Role) => void): () => void
  close(): void
}

/**
 * Connects this page to the database called `name`, which one worker among all tabs owns; a worker that dies is
 * replaced, and calls it left open are sent again if the worker says they may be.
 *
 * @example
 * const client = connectWorker<Desk>({
 *   worker: () => new Worker(new URL('./desk.worker.ts', import.meta.url), {type: 'module'}),
 *   name: 'desk',
 * })
 * await client.service.append({id, text})
 */
export function connectWorker<S extends object>(options: WorkerStart): WorkerClient<S> {
  requireFeatures({'module workers': () => typeof Worker === 'function'})
  const role = createObservable<Role>('starting')
  const feed = openFeed(options.name)
  const retry: string[] = []
  const target = createTarget(retry)
  const keeper = keepWorker(options, target, {
    hear(message) {
      if (message.holdfast === 'role') role.set(message.role)
      if (message.holdfast === 'ready') retry.splice(0, retry.length, ...message.retry)
    },
    lost: () => role.set('starting'),
  })

  // A page in the back/forward cache keeps its locks, and every other tab would wait behind it.
  const hide = () => {
    keeper.stop('The page was left.')
    feed.pause()
  }
  const show = (event: PageTransitionEvent) => {
    if (!event.persisted) return
    feed.resume()
    keeper.start()
  }
  addEventListener('pagehide', hide)
  addEventListener('pageshow', show)
  keeper.start()

  return {
    service: methodProxy<S>((method, args) =>
      withDeadline(
        deadlineOf(options, method) + (role.get() === 'starting' ? openingMs : 0),
        method,
        target.call(method, args),
      ),
    ),
    kill: () => keeper.replace('The worker was terminated.'),
    listen: (topic, listener) => feed.listen(topic, listener),
    role: role.get,
    onRole: role.listen,
    close() {
      removeEventListener('pagehide', hide)
      removeEventListener('pageshow', show)
      keeper.stop('This client was closed.')
      target.fail(new HoldfastError('peer_gone', 'This client was closed.'), {forGood: true})
      feed.close()
    },
  }
}
