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
import {browserPeople} from './browser-people.ts'
import {requireDatabaseName} from './database-name.ts'
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

/** How a page reaches the one worker of this browser that owns the database and runs the agent. */
export type RuntimeOptions = {
  /** Makes this tab's worker; called again whenever one has died. Its module calls `serveAgent`. */
  worker: () => Worker
  /** Names the databases in this browser; each person who signs in gets one of their own under it. Default `holdfast`. */
  name?: string
  /**
   * Leave out for a device that never syncs. `token` is asked again, with back-off, whenever the server refuses the last
   * one; without `token` requests go with the page's cookies.
   */
  sync?: {url: string | URL; token?: TokenOption}
  /**
   * Names this build, such as the time it was made in ISO 8601; it must sort after the names of earlier builds. A page of
   * a newer build takes the database over from one of an older build. Default: the address of the worker's script, where
   * of two builds that differ the page that was loaded later counts as the newer one.
   */
  build?: string
  /** Milliseconds a call may take before it fails with `deadline`. Default 15,000. */
  deadlineMs?: number
}

export interface Runtime extends PersonActions {
  /** Opens a new session of an agent, or one that this device has. A session id is never a user's or a device's. [ID-2] */
  openSession(target: SessionTarget): Promise<Session>
  /** Told this device's sessions, latest first, now and on every change; returns how to stop. */
  subscribeSessions(listener: (sessions: SessionListItem[]) => void): () => void
  subscribeConnection(listener: (connection: Connection) => void): () => void
  /** `false` cuts the connection for real: every request and stream ends and none starts. */
  setOnline(online: boolean): Promise<void>
  /** What is remembered of whoever uses this runtime, across all sessions. [MEM-1] */
  readonly memory: Memory
  passport(run: RunId): Promise<Passport | null>
  /**
   * A run as one file of JSON: its events, passport, operations, approvals and usage; null for one that this device does
   * not have. `checkRunExport` folds the events anew and compares. [OBS-2]
   *
   * @throws HoldfastError `too_large` for a session of over 20,000 events
   * @example
   * const file = new Blob([JSON.stringify(await runtime.exportRun(run))], {type: 'application/json'})
   */
  exportRun(run: RunId): Promise<RunExport | null>
  /**
   * What the model saw at one step, rebuilt from the record and checked against its hash; null for a step that is not on
   * this device. [VIEW-2]
   *
   * @throws HoldfastError `bad_input` for what is no run or step id
   * @example
   * const seen = await runtime.viewOf(entry.step.run, entry.step.id)
   * if (!seen?.exact) console.warn(seen?.lacking)
   */
  viewOf(run: RunId, step: StepId): Promise<ModelView | null>
  close(): Promise<void>
}

/** A runtime in a browser: besides the sessions, what concerns tabs and workers. */
export interface BrowserRuntime extends Runtime {
  /** 'leader' owns the database; 'follower' goes through another tab. */
  subscribeRole(listener: (role: 'starting' | 'leader' | 'follower') => void): () => void
  /**
   * How far opening is, why it does not work and what is tried next; apart from the connection to the server.
   *
   * @example
   * const unsubscribe = runtime.opening.subscribe(opening => {
   *   if (opening.state === 'opening' && opening.cause) show(opening.cause.message)
   * })
   */
  readonly opening: Source<Opening>
  /** The newer build that another tab of this browser runs; null while there is none. A reload brings it. */
  readonly newerBuild: Source<Build | null>
  /** Terminates this tab's worker at once, as a crash would, and starts another. */
  killWorker(): void
}

/** Added to the deadline of reading a blob, which a slow line may first have to bring. */
const blobMs = 135_000

/** What the page tells its worker when it starts. */
export type WorkerConfig = {url: string | null; cookies: boolean; person: Person | null}

/**
 * Opens the runtime of this browser; the same call in a second tab joins the first tab's database. Resolves at once:
 * `opening` tells how far it is, and calls wait for it. Where this browser lacks something, `opening` has failed and
 * names it.
 *
 * @throws HoldfastError `misconfigured` naming the option that cannot work
 * @example
 * const runtime = await openRuntime({
 *   worker: () => new Worker(new URL('./agent.worker.ts', import.meta.url), {type: 'module'}),
 *   sync: {url: location.origin, token: () => fetchToken()},
 * })
 */
export async function openRuntime(options: RuntimeOptions): Promise<BrowserRuntime> {
  const {worker, name = 'holdfast', sync, build, deadlineMs = 15_000} = options
  requireDatabaseName(name)
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
    client,
    current => sourceOf({get: current.role, listen: current.onRole}),
    'starting',
  )
  return {
    ...runtimeOfPersons(persons),
    subscribeRole: listener => role.subscribe(listener),
    opening: sourceAcross<Client, Opening>(client, current => sourceOf(current.opening), notOpenedYet()),
    newerBuild: sourceAcross<Client, Build | null>(client, current => sourceOf(current.newerBuild), null),
    killWorker: () => client.get()?.kill(),
    close: () => persons.close(),
  }
}

type Client = WorkerClient<RuntimeService>

function notOpenedYet(): Opening {
  return {state: 'opening', step: 'script', since: Date.now(), attempt: 1, cause: null, nextAt: null}
}

/** This tab's part of one person's database. */
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
  const stops = [identity.bringTo(parts), askPersistence({service: client.service, listen: parts.listen, persist})]
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
