import type {Frames, RuntimeService} from '../device/runtime-service.ts'
import type {Build} from '../platform/build.ts'
import {defaultDeadlineMs} from '../platform/deadline.ts'
import {systemEnvironment} from '../platform/environment.ts'
import {createObservable} from '../platform/observable.ts'
import type {WorkerStart} from '../platform/page-worker.ts'
import {connectWorker, type WorkerClient} from '../platform/worker-client.ts'
import type {Role} from '../platform/worker-messages.ts'
import type {RunId, StepId} from '../protocol/ids.ts'
import type {ModelView} from '../protocol/model-view.ts'
import type {Opening} from '../protocol/opening.ts'
import type {Passport} from '../protocol/passport.ts'
import type {Person} from '../protocol/person.ts'
import type {RunExport} from '../protocol/run-export.ts'
import {serverUrl} from '../protocol/server-url.ts'
import type {Connection, SessionListItem} from '../protocol/session-view.ts'
import {askPersistence} from './ask-persistence.ts'
import {keepAttended} from './attention.ts'
import {browserPeople} from './browser-people.ts'
import {checkRuntimeOptions} from './check-runtime-options.ts'
import type {EditOutbox} from './edit-outbox.ts'
import {keepEditsOfPage} from './keep-edits-of-page.ts'
import {type PageIdentity, pageIdentity} from './page-identity.ts'
import type {Memory} from './page-memory.ts'
import type {PageParts} from './page-parts.ts'
import type {Session, SessionTarget} from './page-runtime.ts'
import {type Opened, Persons} from './persons.ts'
import {databaseName, removeBrowserDatabase} from './remove-browser-database.ts'
import {type PersonActions, runtimeOfPersons} from './runtime-of-persons.ts'
import {type Source, sourceAcross, sourceOf} from './source.ts'
import {type TokenOption, tokenSource} from './token-source.ts'

/** Options of `openRuntime`. */
export type RuntimeOptions = {
  /** Creates this tab's worker. Called again after a worker has died. Its module calls `serveAgent`. */
  worker: () => Worker
  /** Prefix of the database names in this browser; each person has a separate database. Default: `holdfast`. */
  name?: string
  /**
   * Server to sync with. Default: none. `token` is called again, with back-off, when the server refuses the last token.
   * Without `token`, requests are authenticated by the page's cookies.
   */
  sync?: {url: string | URL; token?: TokenOption}
  /**
   * Identifies this build, for example its build time in ISO 8601. Names of later builds must sort after it. A page of
   * a newer build takes over the database from an older build. Default: the URL of the worker's script; of two
   * different URLs, the page that was loaded later counts as newer.
   */
  build?: string
  /** Milliseconds after which a call fails with `deadline`. Default: 15,000. */
  deadlineMs?: number
}

export interface Runtime extends PersonActions {
  /**
   * Opens a new session of an agent, or an existing one on this device. A session id is never a user's or a device's
   * id. [ID-2]
   */
  openSession(target: SessionTarget): Promise<Session>
  /**
   * Calls `listener` with this device's sessions, latest first, now and after every change. Returns an unsubscribe
   * function.
   */
  subscribeSessions(listener: (sessions: SessionListItem[]) => void): () => void
  subscribeConnection(listener: (connection: Connection) => void): () => void
  /** `false` disconnects: running requests and streams are aborted, and no new ones start. */
  setOnline(online: boolean): Promise<void>
  /** Memory about the person who uses this runtime, across all sessions. [MEM-1] */
  readonly memory: Memory
  passport(run: RunId): Promise<Passport | null>
  /**
   * Exports a run as one JSON value: its events, passport, operations, approvals and usage. Null if this device does
   * not have the run. `checkRunExport` folds the events again and compares. [OBS-2]
   *
   * @throws HoldfastError `too_large` for a session of over 20,000 events
   * @example const file = new Blob([JSON.stringify(await runtime.exportRun(run))], {type: 'application/json'})
   */
  exportRun(run: RunId): Promise<RunExport | null>
  /**
   * Rebuilds what the model saw at one step and checks it against its recorded hash. Null if this device does not have
   * the step. [VIEW-2]
   *
   * @throws HoldfastError `bad_input` for an invalid run or step id
   * @example const seen = await runtime.viewOf(entry.step.run, entry.step.id) if (!seen?.exact) console.warn(seen?.lacking)
   */
  viewOf(run: RunId, step: StepId): Promise<ModelView | null>
  close(): Promise<void>
}

/** A runtime in a browser, with the state of its tabs and workers. */
export interface BrowserRuntime extends Runtime {
  /** `leader`: this tab owns the database. `follower`: it uses the database through another tab. */
  subscribeRole(listener: (role: 'starting' | 'leader' | 'follower') => void): () => void
  /**
   * Progress of opening the database: the step, the cause of a failure, and the next attempt. Separate from the
   * connection to the server.
   *
   * @example const unsubscribe = runtime.opening.subscribe(opening => {
   *   if (opening.state === 'opening' && opening.cause) show(opening.cause.message)
   * })
   */
  readonly opening: Source<Opening>
  /** The newer build that another tab of this browser runs; null if there is none. Reloading the page loads it. */
  readonly newerBuild: Source<Build | null>
  /** Terminates this tab's worker at once, as a crash would, and starts another. */
  killWorker(): void
}

/** Added to the deadline of reading a blob, which may have to be downloaded over a slow line first. */
const blobMs = 135_000

/** Configuration that the page sends to its worker at the start. */
export type WorkerConfig = {url: string | null; cookies: boolean; person: Person | null}

/**
 * Opens the runtime of this browser. A second tab that calls it shares the first tab's database. Resolves before the
 * database is open: `opening` reports the progress, and calls wait for it. If this browser lacks a required feature,
 * `opening` fails and names it.
 *
 * @throws HoldfastError `misconfigured` naming every wrong option
 * @example const runtime = await openRuntime({
 *   worker: () => new Worker(new URL('./agent.worker.ts', import.meta.url), {type: 'module'}),
 *   sync: {url: location.origin, token: () => fetchToken()},
 * })
 */
export async function openRuntime(options: RuntimeOptions): Promise<BrowserRuntime> {
  checkRuntimeOptions(options)
  const {worker, name = 'holdfast', sync, build, deadlineMs = 15_000} = options
  const url = sync ? serverUrl(sync.url, 'sync.url').href : null
  const token = tokenSource(sync?.token)
  const identity = pageIdentity(url, token)
  const client = createObservable<Client | null>(null)
  const persons: Persons<Client> = new Persons<Client>({
    index: browserPeople(name),
    open: async (place, person) => {
      const config: WorkerConfig = {url, cookies: token === null, person}
      const start = {worker, name: databaseName(name, place), config, deadlineMs, ...(build && {build})}
      const opened = openPlace(start, identity)
      client.set(opened.extra)
      return opened
    },
    remove: place => removeBrowserDatabase(databaseName(name, place)),
    me: () => identity.me(),
    onOther: person => identity.named(person),
  })
  identity.start(persons)
  void persons.start().catch(() => undefined)
  const role = sourceAcross<Client, Role>(
    'subscribeRole',
    client,
    current => sourceOf({get: current.role, listen: current.onRole}),
    'starting',
  )
  return {
    ...runtimeOfPersons(persons),
    subscribeRole: listener => role.subscribe(listener),
    opening: sourceAcross<Client, Opening>(
      'opening.subscribe',
      client,
      current => sourceOf(current.opening),
      notOpenedYet(),
    ),
    newerBuild: sourceAcross<Client, Build | null>(
      'newerBuild.subscribe',
      client,
      current => sourceOf(current.newerBuild),
      null,
    ),
    killWorker: () => client.get()?.kill(),
    close: () => persons.close(),
  }
}

type Client = WorkerClient<RuntimeService>

function notOpenedYet(): Opening {
  return {state: 'opening', step: 'script', since: Date.now(), attempt: 1, cause: null, nextAt: null}
}

/** Opens one person's database in this tab. */
function openPlace(start: WorkerStart, identity: PageIdentity): Opened<Client> {
  const {name, deadlineMs = defaultDeadlineMs} = start
  const client = connectWorker<RuntimeService>({...start, deadlines: {blob: deadlineMs + blobMs}})
  const edits = new Set<EditOutbox>()
  const parts: PageParts = {
    edits,
    service: client.service,
    listen: <Topic extends keyof Frames>(topic: Topic, listener: (frame: Frames[Topic]) => void) =>
      client.listen<Frames[Topic]>(topic, listener),
    onOwnerChange: (listener: () => void) => client.onRole(role => role !== 'starting' && listener()),
    environment: systemEnvironment,
  }
  const online = () => void parts.service.hurry().catch(() => undefined)
  addEventListener('online', online)
  const persist = navigator.storage?.persist ? () => navigator.storage.persist() : null
  const kept = keepEditsOfPage({service: client.service, edits, database: name})
  const stops = [
    identity.bringTo(parts),
    askPersistence({service: client.service, listen: parts.listen, persist}),
    keepAttended({...parts, now: () => performance.now()}),
  ]
  return {
    parts,
    extra: client,
    async close() {
      removeEventListener('online', online)
      await kept.close()
      for (const stop of stops) stop()
      client.close()
    },
  }
}
