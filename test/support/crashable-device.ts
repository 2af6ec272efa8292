import type {PGlite} from '@electric-sql/pglite'
import {fixedOwner} from '../../runtime/device/device-owner.ts'
import {openDeviceRuntime} from '../../runtime/device/device-runtime.ts'
import {localFeed} from '../../runtime/device/local-feed.ts'
import type {Agent, AgentHost, ModelSource} from '../../runtime/loop/define.ts'
import type {Router} from '../../runtime/loop/route.ts'
import type {ViewMemory} from '../../runtime/loop/view-memory.ts'
import {createSessions, type Session} from '../../runtime/page/page-runtime.ts'
import type {SharedDocument} from '../../runtime/page/shared-document.ts'
import {systemEnvironment} from '../../runtime/platform/environment.ts'
import type {LogLine} from '../../runtime/protocol/log-line.ts'
import type {SessionView} from '../../runtime/protocol/session-view.ts'
import type {DeviceStore, UnitOfWork} from '../../runtime/storage/device-store.ts'
import {openPGliteStore} from '../../runtime/storage/pglite-store.ts'
import type {CuttableLink} from '../../runtime/sync/http-link.ts'
import {desk, deskTools, type LinkFaults, type TestServer} from './desk.ts'

export class Crash extends Error {
  override readonly name = 'Crash'
}

/** Counts every write and every request, and kills its device at the one chosen. */
export class Killer {
  dead = false
  points = 0
  readonly passed: string[] = []
  readonly #underWay = new Set<Promise<unknown>>()
  #tell: () => void = () => undefined
  readonly crashed = new Promise<void>(resolve => {
    this.#tell = resolve
  })

  constructor(private readonly at: number | null) {}

  point(label: string): void {
    if (this.dead) throw new Crash('already dead')
    this.points += 1
    this.passed.push(label)
    if (this.points === this.at) this.kill()
  }

  kill(): never {
    this.dead = true
    this.#tell()
    throw new Crash(`killed at ${this.passed.at(-1)}`)
  }

  alive(): void {
    if (this.dead) throw new Crash('already dead')
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const forget = () => this.#underWay.delete(work)
    work.then(forget, forget)
    return work
  }

  /** A dead process commits nothing more, so whoever opens its database next must not see it still writing. */
  async buried(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }
}

/** The store of a device that can be killed before and after every write, and does nothing once dead. */
export function crashableStore(store: DeviceStore, killer: Killer): DeviceStore {
  const write = async <T>(label: string, work: () => Promise<T>): Promise<T> => {
    killer.point(`before ${label}`)
    const result = await killer.track(work())
    killer.point(`after ${label}`)
    return result
  }
  const read = async <T>(work: () => Promise<T>): Promise<T> => {
    killer.alive()
    const result = await work()
    killer.alive()
    return result
  }
  return {
    device: () => read(() => store.device()),
    setOnline: online => write('the switch', () => store.setOnline(online)),
    owner: () => read(() => store.owner()),
    setOwner: owner => write('recording the owner', () => store.setOwner(owner)),
    unsent: () => read(() => store.unsent()),
    sessions: () => read(() => store.sessions()),
    session: id => read(() => store.session(id)),
    transaction: work => write('a transaction', () => store.transaction(unit => work(mortal(unit, killer)))),
    read: (...args) => read(() => store.read(...args)),
    window: (...args) => read(() => store.window(...args)),
    outcomesAfter: (...args) => read(() => store.outcomesAfter(...args)),
    byIds: ids => read(() => store.byIds(ids)),
    prepared: (...args) => read(() => store.prepared(...args)),
    asOf: (...args) => read(() => store.asOf(...args)),
    pending: (...args) => read(() => store.pending(...args)),
    pendingIds: (...args) => read(() => store.pendingIds(...args)),
    rejected: id => read(() => store.rejected(id)),
    own: (...args) => read(() => store.own(...args)),
    since: (...args) => read(() => store.since(...args)),
    divergences: id => read(() => store.divergences(id)),
    sessionOfRun: run => read(() => store.sessionOfRun(run)),
    fact: key => read(() => store.fact(key)),
    saveFact: (...args) => write('saving a fact', () => store.saveFact(...args)),
    renewFact: (...args) => write('renewing a fact', () => store.renewFact(...args)),
    forgetFact: key => write('forgetting a fact', () => store.forgetFact(key)),
    factKeys: () => read(() => store.factKeys()),
    agents: () => read(() => store.agents()),
    // In the background, at no certain point among the others.
    saveAgents: (...args) => read(() => killer.track(store.saveAgents(...args))),
    document: (...args) => read(() => store.document(...args)),
    event: (...args) => read(() => store.event(...args)),
    blob: (...args) => read(() => store.blob(...args)),
    blobBytes: id => read(() => store.blobBytes(id)),
    unsentBlobs: id => read(() => store.unsentBlobs(id)),
    markBlob: (...args) => write('marking a blob', () => store.markBlob(...args)),
    highWater: id => store.highWater(id),
    erased: id => read(() => store.erased(id)),
    allErased: () => read(() => store.allErased()),
    scrub: () => write('a rewrite of the files', () => store.scrub()),
  }
}

/** A transaction under way when the process dies is rolled back, wherever it was. */
function mortal(unit: UnitOfWork, killer: Killer): UnitOfWork {
  return new Proxy(unit, {
    get(target, name, receiver) {
      killer.alive()
      return Reflect.get(target, name, receiver)
    },
  })
}

export function crashableLink(killer: Killer, faults: LinkFaults = {}): LinkFaults {
  const name = (method: string, path: string) => `${method} ${path.replace(/(ses_|order)[^/]*/, '…')}`
  return {
    before: async (method, path) => {
      killer.point(`before ${name(method, path)}`)
      await faults.before?.(method, path)
    },
    after: async (method, path, response) => {
      await faults.after?.(method, path, response)
      killer.point(`after ${name(method, path)}`)
    },
    ...(faults.twice && {twice: faults.twice}),
    ...(faults.instead && {instead: faults.instead}),
    ...(faults.answer && {answer: faults.answer}),
  }
}

export function deskHost(model: ModelSource, more: {agent?: Agent; tools?: object} = {}): AgentHost {
  return {agent: desk, model, tools: deskTools, ...more} as unknown as AgentHost
}

export type Device = {
  session(id: string): Promise<Session>
  service: Awaited<ReturnType<typeof openDeviceRuntime>>['service']
  sessions: ReturnType<typeof createSessions>
  close(): Promise<void>
}

/** A whole device over a database that outlives it; `killer` decides when it dies. */
export async function openDevice(parts: {
  db: PGlite
  shop: TestServer
  subject: string
  model: ModelSource
  /** What this build can run; the desk unless told. */
  hosts?: readonly AgentHost[]
  router?: Router
  killer?: Killer
  faults?: LinkFaults
  link?: CuttableLink
  setToken?: (token: string | null) => void
  memory?: ViewMemory
  log?: (line: LogLine) => void
  /** Only these sessions exist for it, so that many scenes can share one database. */
  only?: string
}): Promise<Device> {
  const {db, shop, subject, model, killer = new Killer(null), only} = parts
  const feed = localFeed()
  const store = await openPGliteStore(db, systemEnvironment)
  const own: DeviceStore = only
    ? {...store, sessions: async () => (await store.sessions()).filter(({id}) => id === only)}
    : store
  const link = parts.link ?? (await shop.link(subject, {faults: crashableLink(killer, parts.faults)}))
  const runtime = await openDeviceRuntime({
    store: crashableStore(own, killer),
    hosts: parts.hosts ?? [deskHost(model)],
    router: parts.router,
    environment: systemEnvironment,
    link,
    owner: fixedOwner(subject),
    setToken: parts.setToken ?? (() => undefined),
    publisher: feed,
    ...(parts.memory && {memory: parts.memory}),
    ...(parts.log && {log: parts.log}),
    retryDelayMs: 1,
  })
  const sessions = createSessions({
    service: runtime.service,
    listen: feed.listen,
    onOwnerChange: () => () => undefined,
    environment: systemEnvironment,
  })
  return {
    service: runtime.service,
    sessions,
    session: id => sessions.openSession({session: id}),
    close: () => runtime.close(),
  }
}

/** The first view that is as wanted. */
export function until(session: Session, wanted: (view: SessionView) => boolean): Promise<SessionView> {
  return new Promise(resolve => {
    const stop = session.subscribe(view => {
      if (!wanted(view)) return
      resolve(view)
      queueMicrotask(() => stop())
    })
  })
}

/** Resolves when the document reads so. */
export function reads(document: SharedDocument, expected: string): Promise<void> {
  return new Promise(resolve => {
    const stop = document.subscribe(text => {
      if (text !== expected) return
      resolve()
      queueMicrotask(() => stop())
    })
  })
}
