import {openDocumentEditor} from '../documents/document-editor.ts'
import {documentDraft, documentProjection} from '../documents/document-projection.ts'
import {documentReader} from '../documents/document-reader.ts'
import {type AgentHost, requireDistinct} from '../loop/define.ts'
import {modelViewOf} from '../loop/rebuild-view.ts'
import type {Router} from '../loop/route.ts'
import type {ViewMemory} from '../loop/view-memory.ts'
import {externalTools} from '../loop/without-server.ts'
import {giveAway} from '../platform/give-away.ts'
import {type BlobId, blobIdSchema} from '../protocol/blob.ts'
import {documentNameSchema} from '../protocol/document.ts'
import type {Environment} from '../protocol/environment.ts'
import {erasedSentence, type PurgeOrder, type RedactionOrder} from '../protocol/erasure.ts'
import {HoldfastError, parse} from '../protocol/errors.ts'
import type {Actor, DataOf, Draft} from '../protocol/event.ts'
import {
  type DeviceId,
  deviceIdSchema,
  type EventId,
  eventIdSchema,
  type RunId,
  runIdSchema,
  type SessionId,
  type StepId,
  sessionIdSchema,
  stepIdSchema,
  subjectIdSchema,
} from '../protocol/ids.ts'
import type {LogLine} from '../protocol/log-line.ts'
import {messageText} from '../protocol/message-text.ts'
import type {ModelView} from '../protocol/model-view.ts'
import type {Person} from '../protocol/person.ts'
import {localSubject} from '../protocol/person.ts'
import {isActive} from '../protocol/run.ts'
import {policyOf} from '../protocol/session.ts'
import type {Connection} from '../protocol/session-view.ts'
import {shortened} from '../protocol/text.ts'
import {limits} from '../protocol/version.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import type {DeviceMemoryStore} from '../storage/memory-store.ts'
import type {SessionLog} from '../storage/session-log.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import {KeptUp} from '../sync/kept-up.ts'
import {pullPage} from '../sync/session-sync.ts'
import {SyncClient} from '../sync/sync-client.ts'
import {type AgentRegistry, agentRegistry} from './agent-registry.ts'
import {AwaitOwner} from './await-owner.ts'
import {type BlobReader, blobReader} from './blob-reader.ts'
import {comingRun} from './coming-run.ts'
import {type DeviceLog, deviceLog} from './device-log.ts'
import {DeviceMemory} from './device-memory.ts'
import type {DeviceOwner} from './device-owner.ts'
import {type DivergenceSettlement, restoreDivergence, settleDivergence, settlementSchema} from './divergences.ts'
import {earlierPassport} from './earlier-passport.ts'
import {exportRun} from './export-run.ts'
import {type FactReader, factReader} from './fact-reader.ts'
import {forkOf} from './fork-of.ts'
import {gatewayOf} from './gateway-of.ts'
import type {MemoryChoice} from './memory-parts.ts'
import {memoryService} from './memory-service.ts'
import {migrationDraft} from './migrate-run.ts'
import {continueOffline, devicesOf, handOver, takeIdle, takeOver} from './move-custody.ts'
import {OpenSession} from './open-session.ts'
import {PersonStatus} from './person-status.ts'
import {branchesOf, purge, sessionsToPurge} from './purge.ts'
import {readEntry, readHistory} from './read-history.ts'
import {redact} from './redact.ts'
import type {NewSession, OutgoingMessage, Publisher, RuntimeService} from './runtime-service.ts'
import {SessionListing} from './session-listing.ts'
import {showBranchesOnArrival} from './show-branches.ts'
import {effectsAfter} from './standing.ts'
import {plainStorage, type StoragePart, StorageStatus} from './storage-status.ts'
import {type DeviceTelemetry, deviceTelemetry} from './telemetry.ts'
import {closeForWipe, WriteGate} from './write-gate.ts'

export type DeviceParts = {
  store: DeviceStore
  /** Where the store keeps its data, and how it was recovered. Default: in memory. */
  storage?: StoragePart
  /** Agents, and versions of them, that this build runs side by side. */
  hosts: readonly AgentHost[]
  router?: Router | undefined
  environment: Environment
  /** Null for a device that never syncs. */
  link: CuttableLink | null
  /** The owner of the database. [ID-6] */
  owner: DeviceOwner
  publisher: Publisher
  /** What this device remembers of its subject, across sessions; left out, it keeps no memory and views recall none. */
  ownMemory?: MemoryChoice & {store: DeviceMemoryStore}
  /** What views recall from; this device's own memory unless given. */
  memory?: ViewMemory
  /** Passes on a token of the application; null when it has none. */
  setToken(token: string | null, failed?: boolean | string): void
  retryDelayMs?: number
  log?: ((line: LogLine) => void) | undefined
}

/** Milliseconds within which a connected holder receives a message and starts to answer. */
const holderPatienceMs = 2500

function isReached({state}: Connection): boolean {
  return state === 'live' || state === 'polling' || state === 'connecting'
}

const localOnly: Connection = {
  state: 'local_only',
  detail: 'This runtime has no server; everything stays on this device.',
}

/**
 * The whole device behind its service: logs, loops, documents and sync over one store. Everything that it knows can be
 * rebuilt from the store; killing it at any instruction loses nothing that a call has reported.
 */
export async function openDeviceRuntime(
  parts: DeviceParts,
): Promise<{service: RuntimeService; close(): Promise<void>}> {
  const {id, online} = await parts.store.device()
  const gate = new WriteGate(() => parts.environment.elapsed())
  const {ownMemory} = parts
  const gated = {
    ...parts,
    store: gate.store(parts.store),
    ...(ownMemory && {ownMemory: {...ownMemory, store: gate.memory(ownMemory.store)}}),
  }
  const device = new DeviceRuntime(gated, id, gate)
  await device.start(online)
  return {service: device.service(), close: () => device.close()}
}

class DeviceRuntime {
  readonly #sessions = new Map<SessionId, Promise<OpenSession>>()
  readonly #sync: SyncClient | null
  readonly #facts: FactReader
  readonly #blobs: BlobReader
  readonly #listing: SessionListing
  readonly #memory: DeviceMemory | null
  readonly #log: DeviceLog
  readonly #telemetry: DeviceTelemetry
  readonly #registry: AgentRegistry
  /** Copies of the server's data. A copy that cannot be refreshed keeps its data and its age, and is retried. */
  readonly #registryCopy: KeptUp
  readonly #factCopies: KeptUp
  readonly #storage: StorageStatus
  readonly #status: PersonStatus
  readonly #awaitOwner: AwaitOwner
  #purging: Promise<void> = Promise.resolve()

  constructor(
    private readonly parts: DeviceParts,
    private readonly device: DeviceId,
    private readonly gate: WriteGate,
  ) {
    const {link, store, environment, publisher} = parts
    requireDistinct(parts.hosts)
    this.#storage = new StorageStatus(parts.storage ?? plainStorage, publisher)
    this.#status = new PersonStatus(parts.owner, store, publisher)
    this.#awaitOwner = new AwaitOwner(parts.owner, () => this.#sync?.connection.state ?? 'connecting')
    this.#facts = factReader({store, link, environment})
    this.#blobs = blobReader({store, link, openLog: async session => (await this.#open(session)).log})
    this.#listing = new SessionListing(store, publisher)
    this.#memory = this.#openMemory()
    const tenant = () => parts.owner.get()?.tenant ?? null
    this.#log = deviceLog({write: parts.log, now: environment.now, tenant, device})
    this.#log.recovered(this.#storage.state.recovery)
    if (!link) this.#log.noServer(externalTools(parts.hosts))
    this.#telemetry = deviceTelemetry(tenant, this.#log)
    this.#registry = agentRegistry({store, link, environment, isLive: () => this.#connection.state === 'live'})
    this.#registryCopy = new KeptUp(() => this.#registry.refresh(), environment)
    this.#factCopies = new KeptUp(() => this.#facts.refreshAll(), environment)
    this.#sync =
      link &&
      new SyncClient({
        link,
        store,
        environment,
        device,
        claim: person => this.#claim(person),
        onOtherPerson: person => publisher.publish('other', person),
        openLog: async session => (await this.#open(session)).log,
        purge: orders => this.#purgeInTurn(orders),
        onRefused: (session, error) => void this.#refusedForGood(session, error),
        onStalled: (session, error) =>
          void this.#showSyncFault(session, error && `${error.message.replace(/\.$/, '')}. It will be retried.`),
        onRejected: (log, verdicts) => this.#log.rejected(log.state, verdicts),
        onConnection: connection => this.#connectionChanged(connection),
        onMissed: () => this.#missed(),
        onBlobsSent: session =>
          void this.#open(session).then(
            open => open.look(),
            () => undefined,
          ),
        onMemoryChanged: () => this.#memory?.reached(),
        onAgentsChanged: () => this.#registryCopy.soon(),
        onFactChanged: key => void this.#facts.refresh(key).catch(() => this.#factCopies.soon()),
      })
    publisher.publish('connection', this.#connection)
  }

  /** Sessions with work left go on by themselves, before anybody looks at them. */
  async start(online: boolean): Promise<void> {
    await this.#memory?.start()
    for (const {id} of await this.parts.store.sessions()) (await this.#open(id)).loop.wake()
    this.#sync?.start(online)
  }

  async close(): Promise<void> {
    await this.#listing.close()
    await this.#status.close()
    await this.#sync?.close()
    await this.#registryCopy.close()
    await this.#factCopies.close()
    await this.#memory?.close()
    await this.#purging
    for (const session of this.#sessions.values()) await (await session).close()
  }

  /** A session that another device opened may be requested by its id before it was synced. [SYNC-3] */
  async #requireSession(log: SessionLog): Promise<void> {
    const {link} = this.parts
    if (log.state.session || log.erased) return
    // The first page is enough to open the session. The rest is synced like any other session.
    if (link && (await pullPage(link, log))) this.#sync?.touch(log.id)
    if (!log.state.session) throw new HoldfastError('not_found', `session ${log.id}: this device has no such session`)
  }

  service(): RuntimeService {
    const open = (id: SessionId) => this.#open(parse(sessionIdSchema, id, 'session'))
    return {
      openSession: async (id, how) => {
        const session = await open(id)
        if (!how) return await this.#requireSession(session.log)
        const opened = {id: how.event, kind: 'session.opened', data: this.#opening(how)} as const
        // On a retry after a lost response, the session is already open.
        if (!session.log.state.session) await this.#write(session, opened)
      },
      send: async (id, event, message) => this.#send(await open(id), event, message),
      cancel: async (id, event, reason) => this.#cancel(await open(id), event, reason),
      retry: async (id, event) => this.#revive(await open(id), event, 'run.retried'),
      takeOver: async id => takeOver(this.#custody((await open(id)).log)),
      continueOffline: async (id, event) => this.#continueOffline(await open(id), event),
      handOver: async (id, to) => {
        await handOver(this.#custody((await open(id)).log), parse(deviceIdSchema, to, 'handOver.device'))
      },
      devices: async id => devicesOf((await open(id)).log.state, this.device),
      settleDivergence: async (id, settlement) => this.#settleDivergence(await open(id), settlement),
      restoreDivergence: async (id, divergence) => {
        const session = await open(id)
        await restoreDivergence(this.parts.store, session.log.id, divergence)
        session.look()
      },
      effectsAfter: async (id, after) => effectsAfter(this.parts.store, (await open(id)).log.id, after),
      extend: async (id, event) => this.#revive(await open(id), event, 'run.extended'),
      migrate: async (id, event, to) => this.#migrate(await open(id), event, to),
      close: async (id, event, reason) => {
        await this.#write(await open(id), {id: event, kind: 'session.closed', data: reason ? {reason} : {}})
      },
      fork: (id, event, from) => this.#fork(parse(sessionIdSchema, id, 'session'), event, from),
      updateDocument: async (id, event, name, update) => {
        await this.#write(await open(id), {id: event, ...documentDraft(name, update)})
      },
      document: async (id, name) => (await open(id)).watchDocument(parse(documentNameSchema, name, 'document')),
      blob: async (id, blob) => this.#blob((await open(id)).log, parse(blobIdSchema, blob, 'blob')),
      watch: async id => {
        const session = await open(id)
        this.#sync?.open(session.log.id)
        return session.watch()
      },
      view: async id => (await open(id)).view(),
      history: async (id, asked) => readHistory(this.parts.store, (await open(id)).log.id, asked),
      entry: async (id, event) => readEntry(this.parts.store, (await open(id)).log.id, event),
      sessions: () => this.#listing.list(),
      ...memoryService(this.#memory),
      viewOf: (run, step) => this.#viewOf(parse(runIdSchema, run, 'run'), parse(stepIdSchema, step, 'step')),
      sessionPassport: async id => (await open(id)).passport(),
      exportRun: run => exportRun(this.parts.store, parse(runIdSchema, run, 'run'), this.parts.environment.now()),
      runPassport: run => this.#runPassport(parse(runIdSchema, run, 'run')),
      connection: async () => this.#connection,
      storage: async () => this.#storage.state,
      dismissRecovery: () => this.#storage.dismissRecovery(),
      setPersisted: async granted => this.#storage.setPersisted(granted),
      setOnline: async online => {
        await this.parts.store.setOnline(online)
        this.#sync?.setOnline(online)
      },
      setToken: async (token, failed) => {
        this.parts.setToken(token, failed)
        if (token !== null) this.#sync?.hurry()
      },
      hurry: async () => this.#sync?.hurry(),
      attend: async () => this.#sync?.attend(),
      person: () => this.#status.read(),
      closeForWipe: most => closeForWipe(this.gate, this.parts.store, most),
    }
  }

  async #write(session: OpenSession, draft: Draft): Promise<void> {
    if (draft.id) parse(eventIdSchema, draft.id, 'event')
    await session.log.append(await this.#person(), [draft])
  }

  /** Idempotent: succeeds if the run is already cancelled. [RUN-7] */
  async #cancel(session: OpenSession, event: EventId, reason?: string): Promise<void> {
    await comingRun(session)
    const data = reason ? {reason} : {}
    try {
      await this.#write(session, {id: event, kind: 'run.cancelled', data, ...session.runRef()})
    } catch (error) {
      if (!HoldfastError.is(error, 'refused') || session.log.state.run?.ended !== 'cancelled') throw error
    }
  }

  async #person(): Promise<Actor> {
    return {type: 'person', subject: parse(subjectIdSchema, await this.#author(), 'subject')}
  }

  /** Said again after its answer was lost, it must not be checked against the version that it has brought about. */
  async #migrate(session: OpenSession, event: EventId, to: {version: string; reason: string}): Promise<void> {
    if ((await this.parts.store.byIds([event])).length > 0) return
    const {hosts, link} = this.parts
    const draft = await migrationDraft({hosts, gateway: gatewayOf(link)}, session.log.state, to)
    await this.#write(session, {...draft, id: event})
  }

  #opening({agent, title, policy = 'steer'}: NewSession): DataOf<'session.opened'> {
    const names = [...new Set(this.parts.hosts.map(host => host.agent.name))]
    if (names.includes(agent)) return {agent, policy, ...(title && {title})}
    const message = `openSession.agent: this build has no agent named ${JSON.stringify(shortened(agent, 80))}, it has ${names.join(', ')}`
    throw new HoldfastError('bad_input', message, {details: {field: 'agent', expected: names}})
  }

  async #blob({id, erased}: SessionLog, blob: BlobId): Promise<Uint8Array> {
    if (erased) throw new HoldfastError('erased', erasedSentence(erased))
    return giveAway(await this.#blobs(id, blob))
  }

  async #author(): Promise<string> {
    const owner = this.parts.owner.get() ?? (this.#sync && (await this.#awaitOwner.get()))
    if (owner) return owner.subject
    if (!this.#sync) return localSubject
    // The server refuses an event without an author, so none is written.
    throw new HoldfastError(
      'unauthenticated',
      'No person is known on this device yet, and the server has not identified one.',
    )
  }

  async #claim(person: Person): Promise<boolean> {
    const claimed = await this.parts.owner.claim(person)
    this.#awaitOwner.look()
    if (claimed) this.#status.changed(0)
    return claimed
  }

  async #send(session: OpenSession, event: EventId, message: OutgoingMessage): Promise<SessionId> {
    const {policy, correlation, branch} = message
    const text = messageText(message.text)
    const {log} = session
    const data = {text, ...(policy && {policy}), ...(correlation && {correlation})}
    const draft: Draft = {id: event, kind: 'message.posted', data}
    const elsewhere = isActive(log.state.run) && policyOf(log.state, {policy}) === 'fork'
    // On a retry after a lost response, the message stays where it was stored: here, or in its branch.
    const [known] = await this.parts.store.byIds([event])
    if (known && known.session !== log.id) return known.session
    if (!branch || !elsewhere || known) {
      await this.#write(session, draft)
      return log.id
    }
    const forked = await this.#open(branch.session)
    if (!forked.log.state.session) await this.#branch(forked, branch.event, log)
    await this.#write(forked, draft)
    return branch.session
  }

  /**
   * If the server has nothing of the session, there is nothing to inherit: the branch becomes a new session. [RUN-3]
   */
  async #branch(forked: OpenSession, event: EventId, {id, head, state}: SessionLog): Promise<void> {
    if (head > 0) return await this.#fork(forked.log.id, event, {session: id, seq: head})
    const {agent, title, policy} = state
    const data = this.#opening({event, agent: agent ?? '', policy, ...(title && {title})})
    await this.#write(forked, {id: event, kind: 'session.opened', data})
  }

  async #takeIdle(log: SessionLog): Promise<void> {
    await takeIdle(this.#custody(log), {author: await this.#person(), event: this.parts.environment.id('event')})
  }

  /** Continues a run that has ended. If no device works on the session, this device takes custody. [CUS-3] */
  async #revive(session: OpenSession, event: EventId, kind: 'run.retried' | 'run.extended'): Promise<void> {
    const {state} = session.log
    const known = (await this.parts.store.byIds([event])).length > 0
    if (!known && state.custody.holder !== this.device && !isActive(state.run)) await this.#takeIdle(session.log)
    await this.#write(session, {id: event, kind, data: {}, ...session.runRef()})
  }

  #custody(log: SessionLog) {
    const {link, store} = this.parts
    return {link, store, device: this.device, log}
  }

  async #continueOffline({log}: OpenSession, event: EventId): Promise<void> {
    if (log.state.custody.holder === this.device) return
    if (['live', 'polling'].includes(this.#connection.state)) {
      throw new HoldfastError('refused', 'continueOffline: the server can be reached; use takeOver instead')
    }
    const id = parse(eventIdSchema, event, 'event')
    await continueOffline(log, {author: await this.#person(), event: id, device: this.device})
  }

  async #settleDivergence(session: OpenSession, settlement: DivergenceSettlement): Promise<SessionId> {
    const {store, environment} = this.parts
    const there = await settleDivergence(
      {
        store,
        device: this.device,
        environment,
        log: session.log,
        author: await this.#person(),
        open: async id => (await this.#open(id)).log,
      },
      parse(settlementSchema, settlement, 'resolveDivergence'),
    )
    session.look()
    return there
  }

  async #refusedForGood(id: SessionId, error: HoldfastError | null): Promise<void> {
    const session = await this.#showSyncFault(id, error?.message ?? null)
    if (error && session) this.#log.refusedForGood(session.log.state, error)
  }

  async #showSyncFault(id: SessionId, why: string | null): Promise<OpenSession | null> {
    const session = await this.#open(id).catch(() => null)
    session?.setSyncFault(why)
    return session
  }

  async #fork(id: SessionId, event: EventId, from: {session: SessionId; seq: number}): Promise<void> {
    const parent = (await this.#open(parse(sessionIdSchema, from.session, 'from.session'))).log
    const data = await forkOf({store: this.parts.store, link: this.parts.link, parent}, from.seq)
    await this.#write(await this.#open(id), {id: event, kind: 'session.forked', data})
  }

  async #viewOf(run: RunId, step: StepId): Promise<ModelView | null> {
    const {store, hosts} = this.parts
    const memory = this.#viewMemory
    const event = await store.prepared(run, step)
    if (event?.kind !== 'step.prepared' || 'unreadable' in event) return null
    return modelViewOf({store, hosts, memory, documents: documentReader(store)}, event)
  }

  async #runPassport(run: RunId) {
    const id = await this.parts.store.sessionOfRun(run)
    if (!id) return null
    const session = await this.#open(id)
    if (session.log.state.run?.id === run) return await session.passport()
    const standing = (await session.passport())?.branch?.standing
    return await earlierPassport(this.parts.store, session.log.record, {run, ...(standing && {standing})})
  }

  #open(id: SessionId): Promise<OpenSession> {
    const known = this.#sessions.get(id)
    if (known) return known
    const opening = this.#openFresh(id)
    this.#sessions.set(id, opening)
    opening.catch(() => this.#sessions.delete(id))
    return opening
  }

  async #openFresh(id: SessionId): Promise<OpenSession> {
    const {store, hosts, environment, link, publisher, retryDelayMs} = this.parts
    const session = await OpenSession.open(
      {
        store,
        device: this.device,
        hosts: this.#telemetry.hosts(hosts),
        environment,
        gateway: gatewayOf(link),
        router: this.parts.router,
        registry: this.#registry.read,
        readFact: this.#facts.read,
        readFacts: this.#facts.readMany,
        readBlob: this.#blobs,
        openDocuments: openDocumentEditor,
        documents: documentReader(store),
        memory: this.#viewMemory,
        projections: [documentProjection],
        publisher,
        connection: () => this.#connection,
        takeCustody: log => this.#takeIdle(log),
        hasServer: this.parts.link !== null,
        // Without the server, no other device can have received the message.
        patienceMs: () => (isReached(this.#connection) ? holderPatienceMs : 0),
        around: this.#telemetry.around,
        ...(link && {backlogLimit: limits.pendingEvents}),
        ...(retryDelayMs !== undefined && {retryDelayMs}),
      },
      id,
    )
    this.#log.watch(session.log, session.loop)
    this.#memory?.look(session.log)
    showBranchesOnArrival(session, this.#sessions)
    session.log.onChange(() => {
      this.#memory?.look(session.log)
      this.#sync?.touch(id)
      this.#listing.changed()
      this.#status.changed()
    })
    return session
  }

  get #viewMemory(): ViewMemory | undefined {
    return this.parts.memory ?? this.#memory?.forViews
  }

  #openMemory(): DeviceMemory | null {
    const {ownMemory, store, link, environment, publisher, owner} = this.parts
    if (!ownMemory) return null
    const {store: kept, ...choice} = ownMemory
    const {device} = this
    return new DeviceMemory({
      ...choice,
      memory: kept,
      device,
      store,
      link,
      gateway: gatewayOf(link),
      environment,
      publisher,
      subject: () => owner.get()?.subject ?? null,
    })
  }

  get #connection(): Connection {
    if (!this.#sync) return localOnly
    return this.#sync.connection
  }

  #connectionChanged(connection: Connection): void {
    this.parts.publisher.publish('connection', connection)
    this.#awaitOwner.look()
    this.#wakeAll()
  }

  /** Refreshes what may have changed while this device received no messages. */
  #missed(): void {
    this.#registryCopy.soon()
    this.#factCopies.soon()
    this.#memory?.reached()
  }

  /** Runs that waited for the server may continue, and views show the connection. */
  #wakeAll(): void {
    for (const opening of this.#sessions.values()) {
      opening.then(
        session => session.look(),
        () => undefined,
      )
    }
  }

  #purgeInTurn(orders: readonly (PurgeOrder | RedactionOrder)[]): Promise<void> {
    const turn = this.#purging.then(async () => {
      for (const order of orders) await ('saidBy' in order ? this.#redact(order) : this.#purge(order))
    })
    this.#purging = turn.catch(() => undefined)
    return turn
  }

  async #redact(order: RedactionOrder): Promise<void> {
    await redact(this.parts.store, order, async id => (await this.#open(id)).log)
    this.#wakeAll()
  }

  /** Stops every writer first, then publishes the erased state. */
  async #purge(order: PurgeOrder): Promise<void> {
    const {store} = this.parts
    const {erasure, why, at} = order
    const sessions = await sessionsToPurge(store, order)
    const open = await Promise.all(sessions.map(id => this.#open(id)))
    for (const {log} of open) {
      if (!log.erased) await log.retire({session: log.id, erasure, why, at, unsent: 0})
    }
    // Before the files are rewritten, so that removed memory items do not stay in them.
    await this.#memory?.purge(sessions, order.whole)
    for (const branch of await branchesOf(store, sessions)) await (await this.#open(branch)).log.dropInherited()
    await purge(store, order, sessions, documentProjection)
    for (const session of open) {
      const {log} = session
      await session.close()
      this.#sessions.delete(log.id)
      this.parts.publisher.publish(`session:${log.id}`, await (await this.#open(log.id)).watch())
    }
    this.#wakeAll()
    this.#listing.changed()
  }
}
