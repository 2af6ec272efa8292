import type {ModelStream, ModelStreamPart} from '../loop/language-model.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {modelFailureSchema} from '../protocol/model-call.ts'

export type ModelStreamEvent = {id?: string | undefined; data: string}
export type ModelStreamSource = {
  /** Begins the call, or is attached to it from its first part. */
  open(): Promise<ReadableStream<ModelStreamEvent>>
  /** What follows part `after` of the same call; null for a call that cannot be taken up again. */
  reopen: ((after: number) => Promise<ReadableStream<ModelStreamEvent>>) | null
  /** False while it is pointless: the user cut the connection. */
  mayReopen(): boolean
  signal: AbortSignal
}

/** Broken connections in a row, without a single part in between, after which the server counts as out of reach. */
const fruitlessTries = 5

/**
 * The parts of one generation, each once and in order, over as many connections as it takes. [SYNC-4]
 *
 * @throws whatever `open` is refused with; the stream itself fails with `offline` when the server cannot be reached
 */
export async function modelStream(source: ModelStreamSource): Promise<ModelStream> {
  const follower = new Follower(source, (await source.open()).getReader())
  return new ReadableStream({
    async pull(out) {
      const part = await follower.next()
      if (part === null) return out.close()
      out.enqueue(part)
    },
    cancel: reason => follower.cancel(reason),
  })
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

  async #reopen(error: unknown): Promise<void> {
    const {reopen, mayReopen, signal} = this.source
    const refused = HoldfastError.is(error) && !HoldfastError.is(error, 'offline', 'deadline')
    this.#fruitless += 1
    if (!reopen || refused || signal.aborted || !mayReopen() || this.#fruitless > fruitlessTries) throw error
    await new Promise(resolve => setTimeout(resolve, 100 * 2 ** (this.#fruitless - 1)))
    try {
      this.reader = (await reopen(this.#seen)).getReader()
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
