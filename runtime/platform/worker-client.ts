import {HoldfastError} from '../protocol/errors.ts'
import {type Opening, openingCause, waysFor} from '../protocol/opening.ts'
import type {Build} from './build.ts'
import {deadlineOf, withDeadline} from './deadline.ts'
import {openFeed} from './feed.ts'
import {missingFeatures} from './locks.ts'
import {createObservable, type Observable} from './observable.ts'
import {answerForWorker} from './page-answer.ts'
import {createOpening} from './page-opening.ts'
import type {WorkerStart} from './page-worker.ts'
import {methodProxy, type Remote} from './rpc.ts'
import {createTarget} from './target.ts'
import {keepWorker} from './worker-keeper.ts'
import type {Role} from './worker-messages.ts'

/** Milliseconds added to a call's deadline while the database opens. A first open on a slow phone is long. */
const openingMs = 120_000

export interface WorkerClient<S> {
  service: Remote<S>
  /** Terminates this page's worker and starts a new one, as after a crash. */
  kill(): void
  listen<Frame>(topic: string, listener: (frame: Frame) => void): () => void
  role(): Role
  onRole(listener: (role: Role) => void): () => void
  opening: Pick<Observable<Opening>, 'get' | 'listen'>
  /** A newer build that runs in another tab; null when none is known. */
  newerBuild: Pick<Observable<Build | null>, 'get' | 'listen'>
  close(): void
}

/**
 * Connects this page to the database `name`, which one worker among all tabs owns. A worker that terminates is replaced,
 * and its pending calls are retried if their methods are idempotent. If the browser lacks a required feature, `opening`
 * is `failed` and every call rejects with `misconfigured`.
 *
 * @example
 * const client = connectWorker<Desk>({
 *   worker: () => new Worker(new URL('./desk.worker.ts', import.meta.url), {type: 'module'}),
 *   name: 'desk',
 * })
 * await client.service.append({id, text})
 */
export function connectWorker<S extends object>(options: WorkerStart): WorkerClient<S> {
  const missing = missingFeatures()
  if (missing.length > 0) return inertClient(missing)
  const role = createObservable<Role>('starting')
  const opening = createOpening()
  const newerBuild = createObservable<Build | null>(null)
  const feed = openFeed(options.name)
  const pageAnswer = answerForWorker(options.name, opening)
  const retry: string[] = []
  const target = createTarget(retry)
  const keeper = keepWorker(options, target, {
    hear(message) {
      if (message.holdfast === 'role') role.set(message.role)
      if (message.holdfast === 'opening') opening.set(message.opening)
      if (message.holdfast === 'newer') newerBuild.set(message.build)
      if (message.holdfast !== 'ready') return
      retry.splice(0, retry.length, ...message.retry)
      pageAnswer.worker(message.worker)
    },
    lost() {
      pageAnswer.worker(null)
      role.set('starting')
      opening.begin()
    },
    failed: opening.failed,
  })

  // Stop before the page enters the back/forward cache: its locks would block every other tab.
  const hide = () => {
    keeper.stop('The page was left.')
    feed.pause()
    pageAnswer.pause()
  }
  const show = (event: PageTransitionEvent) => {
    if (!event.persisted) return
    feed.resume()
    pageAnswer.resume()
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
    opening,
    newerBuild,
    close() {
      removeEventListener('pagehide', hide)
      removeEventListener('pageshow', show)
      keeper.stop('This client was closed.')
      target.fail(new HoldfastError('peer_gone', 'This client was closed.'), {forGood: true})
      feed.close()
      pageAnswer.pause()
    },
  }
}

/** The client for a browser without the required features: it reports the missing ones. */
function inertClient<S extends object>(missing: string[]): WorkerClient<S> {
  const message = `This browser lacks ${missing.join(' and ')}.`
  const cause = openingCause('browser', message)
  const unchanging = <T>(value: T) => ({get: () => value, listen: () => () => {}})
  return {
    service: methodProxy<S>(() => Promise.reject(new HoldfastError('misconfigured', message, {details: {missing}}))),
    kill() {},
    listen: () => () => {},
    role: () => 'starting',
    onRole: () => () => {},
    opening: unchanging({state: 'failed' as const, cause, ways: waysFor('browser')}),
    newerBuild: unchanging(null),
    close() {},
  }
}
