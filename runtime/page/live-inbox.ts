import type {Decision} from '../protocol/approval.ts'
import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {ApprovalId} from '../protocol/ids.ts'
import type {Person} from '../protocol/person.ts'
import {tellListener, tellListeners} from '../protocol/tell-listeners.ts'
import type {ApproverLink} from '../sync/approver-link.ts'
import {ConnectionLoop} from '../sync/connection-loop.ts'
import type {CuttableLink} from '../sync/http-link.ts'
import {Identity} from '../sync/identify.ts'
import {KeptUp} from '../sync/kept-up.ts'
import {signIntent} from './approver-device.ts'
import {InboxKey} from './inbox-key.ts'
import type {InboxMemory, KeptDecision, Remembered} from './inbox-memory.ts'
import type {Decided, InboxState} from './open-inbox.ts'

type Parts = {
  link: CuttableLink
  server: ApproverLink
  environment: Environment
  memory: InboxMemory
  /** Changes to this person's memory. Returns true if the memory has changed. */
  become(person: Person): Promise<boolean>
  /**
   * The name of this device in the server's list of keys. Null: no key is created, so nothing can be decided offline.
   */
  label: string | null
}

/**
 * Errors that are the server's final answer to a decision. After any other error the decision is sent again. [APP-4]
 */
const verdicts = ['refused', 'forbidden', 'not_found', 'conflict', 'bad_input', 'erased', 'too_large'] as const

/** Keeps an inbox up to date while the server can be reached, and sends the decisions that were made offline. */
export class LiveInbox {
  /** Under which this device signs; a page may add and revoke keys. */
  readonly key: InboxKey
  #remembered: Omit<Remembered, 'key'> = {seen: null, decisions: []}
  readonly #loop: ConnectionLoop
  readonly #identity: Identity
  readonly #handIn: KeptUp
  readonly #look: KeptUp
  readonly #listeners = new Set<(state: InboxState) => void>()

  constructor(private readonly parts: Parts) {
    const {link, environment} = parts
    this.key = new InboxKey({...parts, changed: () => this.#tell()})
    this.#handIn = new KeptUp(() => this.#redeemAll(), environment)
    this.#look = new KeptUp(() => this.refresh(), environment)
    const claim = async (person: Person) => {
      if (await parts.become(person)) await this.#remember({seen: null, decisions: []})
      return true
    }
    this.#identity = new Identity({link, claim}, () => {
      this.#loop.hangUp()
      this.#loop.ask()
    })
    this.#loop = new ConnectionLoop({
      link,
      environment,
      beforeStream: () => this.#identity.ask(),
      round: async () => {
        await this.#identity.know()
        await this.refresh()
        this.#handIn.soon()
      },
      onMessage: message => {
        if (message.type === 'inbox') this.#look.soon()
      },
      onConnection: () => this.#tell(),
    })
  }

  /** Number of decisions that were signed here and have no verdict of the server yet. */
  get undecided(): number {
    return this.#remembered.decisions.filter(({refused}) => refused === null).length
  }

  subscribe(listener: (state: InboxState) => void): () => void {
    this.#listeners.add(listener)
    tellListener(listener, this.#state)
    return () => this.#listeners.delete(listener)
  }

  start(): void {
    void this.#start()
  }

  setOnline(online: boolean): void {
    this.#loop.setOnline(online)
  }

  /** Ends the use by this person: nothing of theirs is shown, sent or fetched afterwards. */
  async leave(forget: () => Promise<void>): Promise<void> {
    this.#loop.setOnline(false)
    this.#identity.forget()
    await forget()
    await this.#remember({seen: null, decisions: []})
  }

  close(): void {
    void Promise.all([this.#loop.close(), this.#handIn.close(), this.#look.close()])
  }

  async decide(approval: ApprovalId, decision: Decision): Promise<Decided> {
    if (this.#remembered.decisions.some(({signed, refused}) => signed.intent.approval === approval && !refused)) {
      throw new HoldfastError('refused', 'This decision was already made here and waits for the server.')
    }
    // Signed and stored before it is sent, so that neither a lost response nor a reload loses it.
    const kept = await this.#keep(approval, decision)
    try {
      await this.parts.server.decide(approval, decision)
    } catch (error) {
      const isVerdict = HoldfastError.is(error, ...verdicts)
      if (isVerdict && kept) await this.parts.memory.dropDecision(kept.signed.intent.nonce).catch(() => undefined)
      if (isVerdict || !kept) throw error
      this.#setDecisions(decisions => [...decisions, kept])
      this.#handIn.later(error)
      this.#loop.unanswered(HoldfastError.from(error, 'offline'))
      return 'kept'
    }
    // If this fails, the decision is sent again and the server answers that it already counts.
    if (kept) await this.parts.memory.dropDecision(kept.signed.intent.nonce).catch(() => undefined)
    // The decision counts even if the list cannot be read now.
    this.#loop.expectNews()
    await this.refresh().catch(() => this.#look.soon())
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

  /** Starts a refresh and returns at once. A failed refresh is repeated. */
  refreshQuietly(): void {
    this.#look.soon()
  }

  /**
   * Signs and stores the decision; null where it cannot be signed or stored. It counts once, however often it is sent.
   */
  async #keep(approval: ApprovalId, {verdict, digest, note}: Decision): Promise<KeptDecision | null> {
    const key = this.key.signing
    const item = this.#remembered.seen?.approvals.find(each => each.approval === approval)
    if (!key || !item) return null
    const at = this.parts.environment.now()
    const signed = await signIntent(key, {approval, verdict, digest, at, ...(note !== undefined && {note})})
    const decision: KeptDecision = {signed, item, refused: null}
    try {
      await this.parts.memory.saveDecision(decision)
      return decision
    } catch {
      return null
    }
  }

  /** Loads the memory. A list that the server has sent in the meantime is newer and stays. */
  async #remember(shown: Omit<Remembered, 'key'>): Promise<void> {
    // While the next person's memory loads, the page must not show the previous person's list.
    this.#remembered = shown
    this.#tell()
    const {key, ...kept} = await this.parts.memory.load()
    this.key.remember(key)
    this.#remembered = {...kept, seen: this.#remembered.seen ?? kept.seen}
    this.#tell()
  }

  async #start(): Promise<void> {
    this.#identity.forget()
    await this.#remember(this.#remembered)
    if (!this.#loop.closed) this.#loop.start()
  }

  /** Sends every decision, even if one fails. Those without a verdict are sent again after a pause. */
  async #redeemAll(): Promise<void> {
    let failed: unknown = null
    for (const decision of this.#remembered.decisions) {
      if (decision.refused !== null) continue
      await this.#redeem(decision).catch(error => {
        failed ??= error
      })
    }
    if (failed) throw failed
    await this.key.look()
  }

  async #redeem(decision: KeptDecision): Promise<void> {
    const {intent} = decision.signed
    try {
      await this.parts.server.redeem(decision.signed)
    } catch (error) {
      if (!HoldfastError.is(error, ...verdicts)) throw error
      const {details, message} = error
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
    const {seen, decisions} = this.#remembered
    const {approvals = [], uncertain = [], seenAt = null} = seen ?? {}
    return {
      items: approvals,
      uncertain,
      decisions,
      seenAt,
      connection: this.#loop.connection,
      ownKey: this.key.signing?.key ?? null,
      keys: this.key.all,
    }
  }

  #tell(): void {
    tellListeners(this.#listeners, this.#state)
  }
}
