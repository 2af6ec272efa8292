import type {ModelStream, ModelStreamPart} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {modelFailureSchema} from '../protocol/model-call.ts'

export type ModelStreamEvent = {id?: string | undefined; data: string}
export type ModelStreamSource = {
  /** Begins the call, or is attached to it from its first part. */
  open(bound: StreamBound): Promise<ReadableStream<ModelStreamEvent>>
  /** What follows part `after` of the same call; null for a call that cannot be taken up again. */
  reopen: ((after: number, bound: StreamBound) => Promise<ReadableStream<ModelStreamEvent>>) | null
  held: HeldStreams
  /** False while it is pointless: the user cut the connection. */
  mayReopen(): boolean
  signal: AbortSignal
}

/** Milliseconds after which the server is to end an answer, though more may follow; null lets it last. */
export type StreamBound = number | null

/** How long one answer lasts where streams are held back, milliseconds, and how long that is remembered. */
const bounded = {ms: 4000, rememberMs: 600_000}

/**
 * Remembers that something on the way holds streams back until they end. Then a generation is read in answers that end
 * soon, one after the other. [SYNC-8]
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

/** Broken connections in a row, without a single part in between, after which the server counts as out of reach. */
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

/** A head that does not come in time is one that is held: the call itself may have begun. */
async function opened(source: ModelStreamSource): Promise<ReadableStream<ModelStreamEvent>> {
  const {held, reopen, signal, mayReopen} = source
  try {
    // What cannot be taken up again must not be ended.
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

  /** Where streams are held back an answer that ends is no failure: the next one goes on from there. */
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
    // A server that knows of no bound answers at once or fails otherwise; it must not be asked in a hot loop.
    if (performance.now() - began < 50) await new Promise(resolve => setTimeout(resolve, 250))
    return true
  }

  async #reopen(error: unknown): Promise<void> {
    const {reopen, mayReopen, signal, held} = this.source
    // Begun and then silent: what follows is held back.
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
