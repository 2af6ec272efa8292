import type {Decision} from '../protocol/approval.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {ApprovalId} from '../protocol/ids.ts'
import type {ApproverLink} from '../sync/approver-link.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import {backoffMs, initialSync, onSignal, type SyncState} from '../sync/sync-state.ts'
import {signIntent} from './approver-device.ts'
import {InboxKey} from './inbox-key.ts'
import type {InboxMemory, KeptDecision, Remembered} from './inbox-memory.ts'
import type {Decided, InboxState} from './open-inbox.ts'

type Parts = {
  link: CuttableLink
  server: ApproverLink
  environment: Environment
  memory: InboxMemory
  /** What the server's list of keys calls this device; null makes none, so nothing can be decided offline. */
  label: string | null
}

/** Keeps an inbox up to date while there is a server, and hands in what was decided while there was none. */
export class LiveInbox {
  /** Under which this device signs; a page may add and revoke keys. */
  readonly key: InboxKey
  #remembered: Omit<Remembered, 'key'> = {seen: null, decisions: []}
  #sync: SyncState = initialSync
  #handingIn: Promise<void> | null = null
  readonly #stop = new AbortController()
  readonly #listeners = new Set<(state: InboxState) => void>()

  constructor(private readonly parts: Parts) {
    this.key = new InboxKey({...parts, changed: () => this.#tell()})
  }

  subscribe(listener: (state: InboxState) => void): () => void {
    this.#listeners.add(listener)
    listener(this.#state)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    void this.#run()
  }

  close(): void {
    this.#stop.abort()
    this.parts.link.setOnline(false)
  }

  async decide(approval: ApprovalId, decision: Decision): Promise<Decided> {
    if (this.#remembered.decisions.some(({signed, refused}) => signed.intent.approval === approval && !refused)) {
      throw new HoldfastError('refused', 'You have decided this already; the server has yet to be reached.')
    }
    try {
      await this.parts.server.decide(approval, decision)
    } catch (error) {
      if (!HoldfastError.is(error, 'offline', 'deadline')) throw error
      await this.#keep(approval, decision, error)
      return 'kept'
    }
    // The decision stands, whether or not the list can be read again now.
    await this.refresh().catch(() => undefined)
    return 'decided'
  }

  async dismiss(nonce: string): Promise<void> {
    await this.parts.memory.dropDecision(nonce)
    this.#setDecisions(decisions => decisions.filter(({signed}) => signed.intent.nonce !== nonce))
  }

  async refresh(): Promise<void> {
    const inbox = await this.parts.server.inbox()
    const seen = {...inbox, seenAt: this.parts.environment.now()}
    this.#remembered = {...this.#remembered, seen}
    this.#tell()
    await this.parts.memory.saveSeen(seen)
  }

  /** A failed look is repeated with the next poke or connection. */
  refreshQuietly(): void {
    this.refresh().catch(() => undefined)
  }

  /** Whether or not the server got it before the line broke, the signed decision says the same and counts once. */
  async #keep(approval: ApprovalId, {verdict, digest, note}: Decision, offline: HoldfastError): Promise<void> {
    const key = this.key.signing
    const {seen} = this.#remembered
    const item = seen?.approvals.find(each => each.approval === approval)
    if (!key || !item) throw offline
    const at = this.parts.environment.now()
    const signed = await signIntent(key, {approval, verdict, digest, at, ...(note !== undefined && {note})})
    const decision: KeptDecision = {signed, item, refused: null}
    await this.parts.memory.saveDecision(decision)
    this.#setDecisions(decisions => [...decisions, decision])
  }

  async #run(): Promise<void> {
    const {key, ...kept} = await this.parts.memory.load()
    this.key.remember(key)
    // What the server has shown meanwhile is newer than what was kept.
    this.#remembered = {...kept, seen: this.#remembered.seen ?? kept.seen}
    this.#tell()
    while (!this.#stop.signal.aborted) {
      try {
        await this.parts.link.live(message => {
          if (message.type === 'hello') {
            this.#become(onSignal(this.#sync, {type: 'connected'}))
            this.#handIn()
          }
          if (message.type === 'inbox') this.refreshQuietly()
        }, this.#stop.signal)
        this.#become(onSignal(this.#sync, {type: 'ended'}))
      } catch (error) {
        this.#become(onSignal(this.#sync, {type: 'failed', error: HoldfastError.from(error, 'offline')}))
      }
      await this.#pause(backoffMs(this.#sync.failures, this.parts.environment.random()))
    }
  }

  /** What fails here for want of a connection is tried again with the next one. */
  #handIn(): void {
    this.#handingIn ??= this.#catchUp()
      .catch(() => undefined)
      .finally(() => {
        this.#handingIn = null
      })
  }

  async #catchUp(): Promise<void> {
    for (const decision of this.#remembered.decisions) if (decision.refused === null) await this.#redeem(decision)
    await this.refresh()
    await this.key.look()
  }

  async #redeem(decision: KeptDecision): Promise<void> {
    const {intent} = decision.signed
    try {
      await this.parts.server.redeem(decision.signed)
    } catch (error) {
      const {code, details, message} = HoldfastError.from(error)
      if (['offline', 'deadline', 'internal'].includes(code)) throw error
      if (details.key === 'unknown' || details.key === 'revoked') await this.key.lose(details.key)
      await this.refresh()
      const now = this.#remembered.seen?.approvals.find(({approval}) => approval === intent.approval)
      // Its answer was lost, or another tab was faster: the decision stands, so there is nothing to complain about.
      // What the server shows of it now is less where its conversation was erased.
      if (now?.you !== 'has_decided') {
        return this.#keepRefused({...decision, item: now ?? decision.item, refused: message})
      }
    }
    await this.dismiss(intent.nonce)
  }

  async #keepRefused(decision: KeptDecision): Promise<void> {
    await this.parts.memory.saveDecision(decision)
    const {nonce} = decision.signed.intent
    this.#setDecisions(all => all.map(each => (each.signed.intent.nonce === nonce ? decision : each)))
  }

  #setDecisions(change: (decisions: KeptDecision[]) => KeptDecision[]): void {
    this.#remembered = {...this.#remembered, decisions: change(this.#remembered.decisions)}
    this.#tell()
  }

  get #state(): InboxState {
    const {state, detail} = this.#sync
    const {seen, decisions} = this.#remembered
    const {approvals = [], uncertain = [], seenAt = null} = seen ?? {}
    return {
      items: approvals,
      uncertain,
      decisions,
      seenAt,
      connection: {state, detail},
      ownKey: this.key.signing?.key ?? null,
      keys: this.key.all,
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#stop.signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer)
          resolve()
        },
        {once: true},
      )
    })
  }

  #become(sync: SyncState): void {
    this.#sync = sync
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener(this.#state)
  }
}
