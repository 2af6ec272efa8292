import type {ModelStream, ModelStreamPart} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {modelFailureSchema} from '../protocol/model-call.ts'

export type ModelStreamEvent = {id?: string | undefined; data: string}
export type ModelStreamSource = {
  /** Starts the call, or attaches to it from its first part. */
  open(bound: StreamBound): Promise<ReadableStream<ModelStreamEvent>>
  /** Continues the same call after part `after`; null for a call that cannot be continued. */
  reopen: ((after: number, bound: StreamBound) => Promise<ReadableStream<ModelStreamEvent>>) | null
  held: HeldStreams
  /** False while the user has disconnected. */
  mayReopen(): boolean
  signal: AbortSignal
}

/** Milliseconds after which the server ends a response although more may follow; null: no limit. */
export type StreamBound = number | null

/** `ms`: length of one response where a proxy buffers streams. `rememberMs`: how long that is remembered. */
const bounded = {ms: 4000, rememberMs: 600_000}

/**
 * Remembers that a proxy buffers streams until they end. Then a generation is read in short responses, one after the
 * other. [SYNC-8]
 */
export class HeldStreams {
  #until = Number.NEGATIVE_INFINITY

  noticed(): void {
    this.#until = performance.now() + bounded.rememberMs
  }

  get bound(): StreamBound {
    return performance.now() < this.#until ? bounded.ms : null
  }
}

/** Consecutive broken connections without a single part, after which the server counts as unreachable. */
const fruitlessTries = 5

/**
 * The parts of one generation, each once and in order, over as many connections as it takes. [SYNC-4]
 *
 * @throws whatever `open` is refused with; the stream itself fails with `offline` when the server cannot be reached
 */
export async function modelStream(source: ModelStreamSource): Promise<ModelStream> {
  const follower = new Follower(source, (await opened(source)).getReader())
  return new ReadableStream({
    async pull(out) {
      const part = await follower.next()
      if (part === null) return out.close()
      out.enqueue(part)
    },
    cancel: reason => follower.cancel(reason),
  })
}

/** If the headers do not arrive in time, a proxy may buffer the response; the call itself may have started. */
async function opened(source: ModelStreamSource): Promise<ReadableStream<ModelStreamEvent>> {
  const {held, reopen, signal, mayReopen} = source
  try {
    // A call that cannot be continued must not be ended early.
    return await source.open(reopen ? held.bound : null)
  } catch (error) {
    const mayBeHeld = HoldfastError.is(error, 'deadline') && held.bound === null
    if (!mayBeHeld || !reopen || signal.aborted || !mayReopen()) throw error
    held.noticed()
    return await source.open(held.bound)
  }
}

class Follower {
  #seen = 0
  #fruitless = 0
  #over = false

  constructor(
    private readonly source: ModelStreamSource,
    private reader: ReadableStreamDefaultReader<ModelStreamEvent>,
  ) {}

  /** The next part, or null after the last. */
  async next(): Promise<ModelStreamPart | null> {
    while (!this.#over) {
      try {
        const {done, value} = await this.reader.read()
        if (!done) return this.#take(value)
        if (!this.source.reopen) return null
        if (await this.#nextBounded()) continue
        await this.#reopen(new HoldfastError('offline', 'the connection ended in the middle of a reply'))
      } catch (error) {
        await this.#reopen(error)
      }
    }
    return null
  }

  cancel(reason: unknown): Promise<void> {
    return this.reader.cancel(reason)
  }

  #take({id, data}: ModelStreamEvent): ModelStreamPart {
    const part = JSON.parse(data) as ModelStreamPart
    this.#seen = id === undefined ? this.#seen + 1 : Number(id)
    this.#fruitless = 0
    this.#over = part.type === 'finish' || part.type === 'error'
    return part.type === 'error' ? {type: 'error', error: failureError(part.error)} : part
  }

  /** Where a proxy buffers streams, the end of a response is normal: the next response continues. */
  async #nextBounded(): Promise<boolean> {
    const {reopen, held, mayReopen, signal} = this.source
    if (held.bound === null || !reopen || signal.aborted || !mayReopen()) return false
    const began = performance.now()
    try {
      this.reader = (await reopen(this.#seen, held.bound)).getReader()
    } catch (error) {
      await this.#reopen(error)
      return true
    }
    // An older server ignores the limit and responds at once; this pause prevents a hot loop.
    if (performance.now() - began < 50) await new Promise(resolve => setTimeout(resolve, 250))
    return true
  }

  async #reopen(error: unknown): Promise<void> {
    const {reopen, mayReopen, signal, held} = this.source
    // A stream that started and then became silent is buffered.
    if (HoldfastError.is(error, 'deadline') || isSilence(error)) held.noticed()
    const refused = HoldfastError.is(error) && !HoldfastError.is(error, 'offline', 'deadline')
    this.#fruitless += 1
    if (!reopen || refused || signal.aborted || !mayReopen() || this.#fruitless > fruitlessTries) throw error
    await new Promise(resolve => setTimeout(resolve, 100 * 2 ** (this.#fruitless - 1)))
    try {
      this.reader = (await reopen(this.#seen, held.bound)).getReader()
    } catch (again) {
      await this.#reopen(again)
    }
  }
}

/** What the gateway says of a failed generation, as the error that the loop knows; anything else it says is kept in words. */
function failureError(error: unknown): HoldfastError {
  const failure = modelFailureSchema.safeParse(error)
  if (!failure.success) return new HoldfastError('model_failed', 'the gateway reported a failure it did not describe')
  const {message, ...details} = failure.data
  return new HoldfastError('model_failed', message, {details})
}

function isSilence(error: unknown): boolean {
  return HoldfastError.is(error, 'offline') && error.details.silentMs !== undefined
}
