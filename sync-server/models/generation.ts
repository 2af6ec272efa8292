import type {LanguageModelV3StreamPart} from '@ai-sdk/provider'
import type {Environment} from '../../runtime/protocol/environment.ts'
import type {Json} from '../../runtime/protocol/json.ts'
import type {ModelCallName, ModelFailure} from '../../runtime/protocol/model-call.ts'
import type {Store} from '../storage/store.ts'
import type {CallEnd, ModelCallRef, NumberedPart, Spent} from '../storage/token-store.ts'
import {Attendance} from './attendance.ts'
import {PartBuffer} from './buffer.ts'
import {costMicros, type ModelPrices} from './config.ts'
import {failureOf, modelFailed} from './error.ts'
import {estimateTokens} from './tokens.ts'

export type PartStream = ReadableStream<LanguageModelV3StreamPart>

export type GenerationParts = {
  ref: ModelCallRef
  name: ModelCallName | null
  owner: string
  prices: ModelPrices | undefined
  inputTokens: number
  /** Asks the provider; called exactly once. */
  ask(signal: AbortSignal): PromiseLike<PartStream>
  store: Store
  environment: Environment
  onFault(error: unknown): void
  /** Told how it failed, when it did; that nobody waited for it any more is no failure. */
  onFailed(failure: ModelFailure): void
  limits: {graceMs: number; leaseMs: number; generationMs: number; parts: number; bytes: number}
}

/**
 * One call of a provider, from asking to its last part. It belongs to the process that claimed its key, goes on
 * whoever reads, and is written down as it comes; what ends it early is its last part, so no reader waits for nothing.
 *
 *   provider ─▶ buffer ─▶ readers here          each part once, in order, from any offset
 *                  └────▶ store ─▶ readers of other processes, and those that come back later
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
          modelFailed('aborted', overtaken ? 'The run went on without this call.' : 'Nobody waited for this call.'),
        ),
    })
  }

  get ref(): ModelCallRef {
    return this.parts.ref
  }

  get name(): ModelCallName | null {
    return this.parts.name
  }

  /** What it has cost so far; final once `run` has resolved. */
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

  /** Resolves with how it ended once that is written down; never throws. */
  async run(): Promise<CallEnd['status']> {
    const {limits} = this.parts
    const beat = setInterval(() => this.#flush(), Math.max(10, limits.leaseMs / 3))
    const late = setTimeout(
      () => this.abort(modelFailed('timeout', `The model did not finish within ${limits.generationMs} ms.`)),
      limits.generationMs,
    )
    const status = await this.#generate()
    clearInterval(beat)
    clearTimeout(late)
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
      const failure = failureOf(this.#abort.signal.aborted ? this.#abort.signal.reason : error)
      this.#buffer.push({type: 'error', error: failure})
      if (failure.reason === 'aborted') return 'aborted'
      this.parts.onFailed(failure)
      return failure.reason === 'lost' ? 'lost' : 'failed'
    }
  }

  async #readToFinish(reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart>): Promise<void> {
    try {
      for (;;) {
        const {done, value} = await untilAborted(this.#abort.signal, reader.read())
        if (done) throw modelFailed('broken', 'The stream ended without its finish part.')
        if (value.type === 'error') throw value.error
        if (value.type !== 'raw') this.#take(value)
        if (value.type === 'finish') return
      }
    } finally {
      reader.cancel().catch(() => undefined)
    }
  }

  #take(part: Exclude<LanguageModelV3StreamPart, {type: 'raw' | 'error'}>): void {
    const {limits} = this.parts
    const text = JSON.stringify(part)
    this.#bytes += text.length
    if (this.#buffer.length >= limits.parts || this.#bytes > limits.bytes) {
      throw modelFailed('too_large', `A generation holds at most ${limits.parts} parts and ${limits.bytes} characters.`)
    }
    const {inputTokens, outputTokens} = this.#spent
    if (part.type === 'finish') {
      const {inputTokens: input, outputTokens: output} = part.usage
      const told = isCount(input.total) && isCount(output.total)
      this.#spent = told
        ? this.#counted(input.total ?? 0, output.total ?? 0, false)
        : this.#counted(inputTokens, outputTokens, true)
    } else this.#spent = this.#counted(inputTokens, outputTokens + estimateTokens(part), true)
    // Read back from the text: what a reader gets now is what one gets who comes later. [LOG-5]
    this.#buffer.push(JSON.parse(text) as Json)
    this.#flush()
  }

  #counted(inputTokens: number, outputTokens: number, estimated: boolean): Spent {
    return {
      inputTokens,
      outputTokens,
      costMicros: costMicros({inputTokens, outputTokens}, this.parts.prices),
      estimated,
    }
  }

  /** One write at a time; what comes meanwhile goes into the next. */
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
        if (!kept) return this.abort(modelFailed('lost', 'This call was taken from the process that made it.'))
        this.#stored += chunk.parts.length
        this.#followedUntil = kept.followedUntil
        this.#renewedAt = now
      } while (this.#stored < this.#buffer.length)
    } catch (error) {
      // The next beat tries again; with the lease gone the call is somebody else's to end.
      onFault(error)
      if (environment.now() - this.#renewedAt > limits.leaseMs) {
        this.abort(modelFailed('lost', 'The parts of this call could not be written down.'))
      }
    }
  }

  async #settle(status: CallEnd['status']): Promise<void> {
    const {store, ref, owner, environment, onFault} = this.parts
    const end = {status, spent: this.#spent, at: environment.now()}
    await store.modelCalls.settle(ref, owner, end, this.#buffer.chunk(this.#stored)).catch(onFault)
  }
}

function isCount(tokens: number | undefined): boolean {
  return tokens !== undefined && Number.isSafeInteger(tokens) && tokens >= 0
}

/** A provider that ignores its signal cannot hold us. */
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
