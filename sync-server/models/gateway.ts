import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import {type ModelCallName, type ModelFailure, modelCallKey} from '../../runtime/protocol/model-call.ts'
import {modelCallFields} from '../../runtime/protocol/telemetry.ts'
import type {FaultPlace} from '../authority/authority.ts'
import {hashJson} from '../authority/hash.ts'
import type {Bus, Poke} from '../bus.ts'
import type {Owner} from '../principal.ts'
import type {Store} from '../storage/store.ts'
import type {Exhausted, ModelCallRef, NumberedPart} from '../storage/token-store.ts'
import {allowedOptions} from './allowed-options.ts'
import {costMicros, limitsFor, type ModelOffer, type Models, offerOf, type TenantBudgets} from './config.ts'
import {modelFailed} from './error.ts'
import {Generation} from './generation.ts'
import {type CallOptions, type PartStream, streamOf} from './language-model.ts'
import {isOvertaken, type Sightings} from './overtaken.ts'
import {estimatePrompt} from './tokens.ts'

export type GatewayOptions = {
  store: Store
  bus: Bus
  environment: Environment
  models: Models
  budgets: TenantBudgets
  onFault(error: unknown, about?: FaultPlace): void
  observe?: ObserveCall
  /** Called for each call that ended without a finish part, unless it was aborted for lack of readers. */
  onFailed?(call: ObservedCall, failure: ModelFailure, detail: {system: string; words?: string}): Promise<void>
  limits?: Partial<GatewayLimits>
}

export type ObservedCall = {ref: ModelCallRef; name: ModelCallName | null; model: string; provider: string}
/** Wraps the single call of a provider. Must invoke `ask` once and pass on its parts and its error. */
export type ObserveCall = (call: ObservedCall, ask: () => PromiseLike<PartStream>) => Promise<PartStream>

export type GatewayLimits = {
  /** Milliseconds that a generation continues without a reader. Default: 60,000. */
  graceMs: number
  /** Milliseconds without a heartbeat after which a process counts as dead. Default: 15,000. */
  leaseMs: number
  /** Milliseconds that one generation may take from start to end. Default: 30 minutes. */
  generationMs: number
  /** Milliseconds until the first piece of a reply. Default: 270,000. */
  firstPartMs: number
  /** Milliseconds between two pieces of a reply. Default: 100,000. */
  silenceMs: number
  /** Milliseconds between two polls of a generation of another process. Default: 200. */
  pollMs: number
  /** Limits of one generation. Default: 50,000 parts and 8 Mi characters. */
  parts: number
  bytes: number
}

const defaults: GatewayLimits = {
  graceMs: 60_000,
  leaseMs: 15_000,
  generationMs: 1_800_000,
  // Both are below the default timeouts of a device, so that the gateway reports the timeout first and the device
  // does not repeat the call.
  firstPartMs: 270_000,
  silenceMs: 100_000,
  pollMs: 200,
  parts: 50_000,
  bytes: 8 * 1024 * 1024,
}

type Sale = ModelOffer & {label: string; inputTokens: number; options: CallOptions}

export type Asked = {name: string; call: ModelCallName | null; options: CallOptions}

/**
 * Runs each generation once. Only the first request with a call key calls the provider; later requests with the same
 * key attach to that generation, in whichever process it runs. [CUS-5, BUD-1]
 *
 *   key ─▶ claim ─┬─ won ───────▶ generate here, for every reader
 *                 ├─ taken ─────▶ read from the buffer here, or from the store
 *                 └─ exhausted ─▶ refused before the provider is called
 */
export class ModelGateway {
  readonly limits: GatewayLimits
  readonly #owner = crypto.randomUUID()
  readonly #live = new Map<string, Generation>()
  readonly #running = new Set<Promise<unknown>>()
  readonly #sightings = new WeakMap<Generation, Sightings>()
  readonly #unsubscribe: () => void

  constructor(private readonly parts: GatewayOptions) {
    this.limits = {...defaults, ...parts.limits}
    this.#unsubscribe = parts.bus.subscribe(poke => {
      for (const generation of this.#live.values()) {
        const {ref, name} = generation
        if (!name || !isAbout(poke, ref, name)) continue
        this.#track(this.#look(generation, name).catch(parts.onFault))
      }
    })
  }

  /**
   * Returns the parts of the call from the first, starting the call if it is new.
   *
   * @throws HoldfastError `not_found` for an unknown model, `conflict` if the key belongs to another request,
   * `budget_exhausted` before the provider is called, `bad_input` for an option that the offer does not allow
   */
  async ask(
    owner: Owner,
    {name, call, options: asked}: Asked,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<NumberedPart>> {
    const offer = offerOf(this.parts.models, name)
    if (!offer) throw new HoldfastError('not_found', 'No such model.')
    const options = allowedOptions(asked, offer.allow)
    const ref = {tenant: owner.tenant, subject: owner.subject, key: call ? modelCallKey(call) : onceKey()}
    const requestHash = await hashJson([name, options] as unknown as Json)
    const inputTokens = estimatePrompt(options)
    const at = this.parts.environment.now()
    const spent = {inputTokens, outputTokens: 0, costMicros: costMicros({inputTokens, outputTokens: 0}, offer.prices)}
    const claim = await this.parts.store.modelCalls.claim(
      {
        ref,
        name: call,
        model: name,
        requestHash,
        owner: this.#owner,
        leaseUntil: at + this.limits.leaseMs,
        at,
        spent: {...spent, estimated: true},
      },
      await limitsFor(this.parts.budgets, owner.tenant),
    )
    if (claim.status === 'exhausted') throw exhausted(claim.limit)
    if (claim.status === 'won') {
      this.#generate(ref, call, {...offer, label: name, inputTokens, options})
    } else if (claim.call.requestHash !== requestHash) {
      throw new HoldfastError('conflict', 'Another request was made under the key of this call.')
    }
    return this.#follow(ref, 0, signal)
  }

  /** Returns the parts after `after` of an existing call of this subject, or null if there is none. */
  async resume(
    owner: Owner,
    key: string,
    after: number,
    signal: AbortSignal,
  ): Promise<AsyncGenerator<NumberedPart> | null> {
    const ref = {tenant: owner.tenant, subject: owner.subject, key}
    return (await this.parts.store.modelCalls.get(ref)) ? this.#follow(ref, after, signal) : null
  }

  /**
   * Ends the open calls of dead processes and returns their number. How long parts are kept is set by `retention`.
   * [RET-1]
   */
  async sweep(): Promise<number> {
    return await this.parts.store.modelCalls.expire(this.parts.environment.now(), 100)
  }

  /** Ends every generation of this process, each with an error part. */
  async close(): Promise<void> {
    this.#unsubscribe()
    for (const generation of this.#live.values()) generation.abort(modelFailed('lost', 'The server is stopping.'))
    await Promise.all(this.#running)
  }

  #generate(ref: ModelCallRef, name: ModelCallName | null, {model, prices, label, inputTokens, options}: Sale): void {
    const {store, environment, onFault, observe = (_, ask) => Promise.resolve(ask())} = this.parts
    const called = {ref, name, model: label, provider: model.provider}
    const generation = new Generation({
      ref,
      name,
      owner: this.#owner,
      prices,
      inputTokens,
      ask: abortSignal => observe(called, () => streamOf(model, options, abortSignal)),
      store,
      environment,
      onFault: error => onFault(error, {fields: modelCallFields(ref.tenant, name)}),
      onFailed: (failure, detail) => this.#track(this.parts.onFailed?.(called, failure, detail) ?? Promise.resolve()),
      // A call without a key cannot be resumed.
      limits: {...this.limits, ...(name === null && {graceMs: 0})},
    })
    const id = idOf(ref)
    this.#live.set(id, generation)
    this.#track(generation.run().finally(() => this.#live.delete(id)))
  }

  async *#follow(ref: ModelCallRef, after: number, signal: AbortSignal): AsyncGenerator<NumberedPart> {
    const live = this.#live.get(idOf(ref))
    if (live) yield* live.read(after, signal)
    else yield* this.#stored(ref, after, signal)
  }

  /** Yields stored parts until the call ends, polling while the lease of its process holds. */
  async *#stored(ref: ModelCallRef, after: number, signal: AbortSignal): AsyncGenerator<NumberedPart> {
    const {store, environment} = this.parts
    let next = after
    while (!signal.aborted) {
      const found = await store.tokens.read(ref, next)
      if (!found) return
      for (const numbered of found.parts) {
        yield numbered
        next = numbered.n
      }
      if (found.parts.length > 0) continue
      const {status, parts, leaseUntil} = found.call
      if (status !== 'open') {
        if (next < parts || parts === 0) yield {n: parts + 1, part: {type: 'error', error: forgotten}}
        return
      }
      const now = environment.now()
      if (leaseUntil < now) await store.modelCalls.expire(now, 100)
      else {
        await store.tokens.follow(ref, now + this.limits.leaseMs)
        await pause(this.limits.pollMs, signal)
      }
    }
  }

  async #look(generation: Generation, name: ModelCallName): Promise<void> {
    const state = await this.parts.store.sessions.state(generation.ref, name.session)
    if (!state) return
    const before = this.#sightings.get(generation) ?? {run: false, step: false}
    const {overtaken, seen} = isOvertaken(name, state, before)
    this.#sightings.set(generation, seen)
    if (overtaken) generation.overtake()
  }

  #track(work: Promise<unknown>): void {
    this.#running.add(work)
    void work.finally(() => this.#running.delete(work))
  }
}

function isAbout(poke: Poke, {tenant, subject}: ModelCallRef, {session}: ModelCallName): boolean {
  if (poke.type === 'missed') return true
  return poke.type === 'head' && poke.session === session && poke.tenant === tenant && poke.subject === subject
}

const forgotten: ModelFailure = {
  message: 'The words of this call are no longer kept.',
  retryable: true,
  reason: 'forgotten',
}

function exhausted({windowMs, tokens, costMicros, usedTokens, usedCostMicros, retryAfterMs}: Exhausted): HoldfastError {
  return new HoldfastError(
    'budget_exhausted',
    `The budget of this tenant for ${windowMs} ms is used up; the first of it counts no more in ${retryAfterMs} ms.`,
    {details: {windowMs, tokens, costMicros, usedTokens, usedCostMicros, retryAfterMs}},
  )
}

/** Key of a call without a name: it is counted and limited as usual, but cannot be resumed. */
function onceKey(): string {
  return `once.${crypto.randomUUID()}`
}

function idOf({tenant, subject, key}: ModelCallRef): string {
  return JSON.stringify([tenant, subject, key])
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const timer = setTimeout(done, ms)
    function done() {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done)
  })
}
