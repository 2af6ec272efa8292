import type {Environment} from '../../runtime/protocol/environment.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {ModelCallName, ModelFailure} from '../../runtime/protocol/model-call.ts'
import {countedUsage, isCutStream} from '../../runtime/protocol/model-finish.ts'
import type {Store} from '../storage/store.ts'
import type {CallEnd, ModelCallRef, NumberedPart, Spent} from '../storage/token-store.ts'
import {Attendance} from './attendance.ts'
import {PartBuffer} from './buffer.ts'
import {costMicros, type ModelPrices} from './config.ts'
import {failureDetail, failureOf, modelFailed} from './error.ts'
import type {ModelStreamPart, PartStream} from './language-model.ts'
import {Silence} from './silence.ts'
import {estimateTokens} from './tokens.ts'

export type GenerationParts = {
  ref: ModelCallRef
  name: ModelCallName | null
  owner: string
  prices: ModelPrices | undefined
  inputTokens: number
  /** Calls the provider. Invoked exactly once. */
  ask(signal: AbortSignal): PromiseLike<PartStream>
  store: Store
  environment: Environment
  onFault(error: unknown): void
  /** Called with the failure. A call aborted for lack of readers is not a failure. */
  onFailed(failure: ModelFailure, detail: {system: string; words?: string}): void
  limits: {
    graceMs: number
    leaseMs: number
    generationMs: number
    firstPartMs: number
    silenceMs: number
    parts: number
    bytes: number
  }
}

/**
 * One call of a provider, from the request to the last part. It belongs to the process that claimed its key,
 * continues without readers for the grace period, and is stored as parts arrive. If it ends early, its last part is
 * an error, so that no reader waits forever.
 *
 *   provider ─▶ buffer ─▶ readers here          each part once, in order, from any offset
 *                  └────▶ store ─▶ readers of other processes, and later readers
 */
export class Generation {
  readonly #buffer = new PartBuffer()
  readonly #abort = new AbortController()
  readonly #attendance: Attendance
  #stored = 0
  #bytes = 0
  #followedUntil = 0
  #renewedAt: number
  #spent: Spent
  #flushing: Promise<void> | null = null
  #silence: Silence | null = null

  constructor(private readonly parts: GenerationParts) {
    const {environment, limits} = parts
    this.#renewedAt = environment.now()
    this.#spent = this.#counted(parts.inputTokens, 0, true)
    this.#attendance = new Attendance({
      graceMs: limits.graceMs,
      followedElsewhere: async () => {
        this.#flush()
        await this.#flushing
        return this.#followedUntil > environment.now()
      },
      onDeserted: overtaken =>
        this.abort(
          modelFailed(
            'aborted',
            overtaken ? 'The run continued without this call.' : 'No reader was left for this call.',
          ),
        ),
    })
  }

  get ref(): ModelCallRef {
    return this.parts.ref
  }

  get name(): ModelCallName | null {
    return this.parts.name
  }

  /** Usage so far; final once `run` has resolved. */
  get spent(): Spent {
    return this.#spent
  }

  overtake(): void {
    this.#attendance.overtake()
  }

  abort(reason: Error): void {
    this.#abort.abort(reason)
  }

  async *read(after: number, signal: AbortSignal): AsyncGenerator<NumberedPart> {
    const leave = this.#attendance.enter()
    try {
      yield* this.#buffer.read(after, signal)
    } finally {
      leave()
    }
  }

  /** Resolves with the final status after it is stored. Never throws. */
  async run(): Promise<CallEnd['status']> {
    const {limits} = this.parts
    const beat = setInterval(() => this.#flush(), Math.max(10, limits.leaseMs / 3))
    const late = setTimeout(
      () => this.abort(modelFailed('timeout', `The model did not finish within ${limits.generationMs} ms.`)),
      limits.generationMs,
    )
    this.#silence = new Silence(limits, () => this.abort(modelFailed('timeout', 'The model fell silent.')))
    const status = await this.#generate()
    clearInterval(beat)
    clearTimeout(late)
    this.#silence.stop()
    this.#attendance.close()
    await this.#flushing
    await this.#settle(status)
    this.#buffer.end()
    return status
  }

  async #generate(): Promise<CallEnd['status']> {
    try {
      const stream = await untilAborted(this.#abort.signal, this.parts.ask(this.#abort.signal))
      await this.#readToFinish(stream.getReader())
      return 'done'
    } catch (error) {
      const cause = this.#abort.signal.aborted ? this.#abort.signal.reason : error
      const failure = failureOf(cause, this.parts.environment.now())
      this.#buffer.push({type: 'error', error: failure})
      if (failure.reason === 'aborted') return 'aborted'
      this.parts.onFailed(failure, failureDetail(cause))
      return failure.reason === 'lost' ? 'lost' : 'failed'
    }
  }

  async #readToFinish(reader: ReadableStreamDefaultReader<ModelStreamPart>): Promise<void> {
    try {
      for (;;) {
        const {done, value} = await untilAborted(this.#abort.signal, reader.read())
        if (done) throw modelFailed('broken')
        if (!value?.type) continue
        this.#silence?.heard(value)
        if (value.type === 'error') throw value.error
        if (value.type === 'raw' || value.type === 'ping') continue
        if (value.type === 'finish' && isCutStream(value)) {
          this.#count(value)
          throw modelFailed('broken')
        }
        if (!this.#hasRoom(value)) return this.#cut()
        this.#take(value)
        if (value.type === 'finish') return
      }
    } finally {
      reader.cancel().catch(() => undefined)
    }
  }

  /** The finish part always fits: it carries the usage that was paid for. */
  #hasRoom(part: ModelStreamPart): boolean {
    const {limits} = this.parts
    this.#bytes += JSON.stringify(part).length
    return part.type === 'finish' || (this.#buffer.length < limits.parts && this.#bytes <= limits.bytes)
  }

  /** Ends a reply that is too long, with the finish reason `length`. */
  #cut(): void {
    const {inputTokens: total, outputTokens} = this.#spent
    const usage = {inputTokens: {total}, outputTokens: {total: outputTokens}}
    this.#buffer.push({type: 'finish', finishReason: {unified: 'length', raw: 'gateway_limit'}, usage})
    this.#flush()
  }

  #take(part: ModelStreamPart): void {
    this.#count(part)
    // Serialised and parsed, so that readers now and later receive the same value. [LOG-5]
    this.#buffer.push(JSON.parse(JSON.stringify(part)) as Json)
    this.#flush()
  }

  #count(part: ModelStreamPart): void {
    const {inputTokens, outputTokens} = this.#spent
    if (part.type !== 'finish') {
      this.#spent = this.#counted(inputTokens, outputTokens + estimateTokens(part), true)
      return
    }
    const told = countedUsage(part.usage)
    this.#spent =
      told.inputTokens !== null && told.outputTokens !== null
        ? this.#counted(told.inputTokens, told.outputTokens, false, told.cachedTokens)
        : this.#counted(inputTokens, outputTokens, true)
  }

  #counted(inputTokens: number, outputTokens: number, estimated: boolean, cachedTokens = 0): Spent {
    const cost = costMicros({inputTokens, outputTokens, cachedTokens}, this.parts.prices)
    return {inputTokens, outputTokens, costMicros: cost, estimated}
  }

  /** Writes one chunk at a time. Parts that arrive meanwhile go into the next chunk. */
  #flush(): void {
    this.#flushing ??= this.#append().finally(() => {
      this.#flushing = null
    })
  }

  async #append(): Promise<void> {
    const {store, ref, owner, environment, limits, onFault} = this.parts
    try {
      do {
        const now = environment.now()
        const chunk = this.#buffer.chunk(this.#stored)
        const progress = {leaseUntil: now + limits.leaseMs, spent: this.#spent}
        const kept = await store.tokens.append(ref, owner, chunk, progress)
        if (!kept) return this.abort(modelFailed('lost', 'Another process ended this call.'))
        this.#stored += chunk.parts.length
        this.#followedUntil = kept.followedUntil
        this.#renewedAt = now
      } while (this.#stored < this.#buffer.length)
    } catch (error) {
      // The next heartbeat retries. After the lease has expired, another process may end the call.
      onFault(error)
      if (environment.now() - this.#renewedAt > limits.leaseMs) {
        this.abort(modelFailed('lost', 'The parts of this call could not be stored.'))
      }
    }
  }

  async #settle(status: CallEnd['status']): Promise<void> {
    const {store, ref, owner, environment, onFault} = this.parts
    const end = {status, spent: this.#spent, at: environment.now()}
    await store.modelCalls.settle(ref, owner, end, this.#buffer.chunk(this.#stored)).catch(onFault)
  }
}

/** Rejects on abort, even if a provider ignores its signal. */
function untilAborted<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
    const over = () => signal.removeEventListener('abort', stop)
    work.then(
      value => {
        over()
        resolve(value)
      },
      error => {
        over()
        reject(error)
      },
    )
  })
}
