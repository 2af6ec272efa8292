import type {DocumentEditor} from '../documents/document-editor.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Draft} from '../protocol/event.ts'
import type {UnitOfWork} from '../storage/device-store.ts'

type Work = (unit: UnitOfWork) => Promise<readonly Draft[]>
/** Appends what `work` answers in one transaction with what it does; what it throws leaves nothing behind. */
type InTransaction = (work: Work) => Promise<void>

/**
 * The transaction of one local call. It begins when the tool first asks for the database, and ends with the call's
 * result, so that whatever is slow and comes before keeps nobody waiting; effect and result still commit together, once.
 * [OP-1]
 *
 *   tool runs ──▶ first query ─▶ begin ─▶ queries ─▶ tool returns ─▶ result ─▶ commit
 *   tool runs ──────────────────────────────────────▶ tool returns ─▶ begin ─▶ result ─▶ commit
 */
export class LocalCall {
  #begun: Promise<void> | null = null
  #over = false
  readonly #opened = withResolvers<UnitOfWork>()
  readonly #finished = withResolvers<Work>()
  readonly #reading = new Set<Promise<unknown>>()

  constructor(private readonly inTransaction: InTransaction) {
    // Whoever waits for them hears of it; nobody has to.
    this.#opened.promise.catch(() => undefined)
    this.#finished.promise.catch(() => undefined)
  }

  /** For queries of the tool. */
  unit(): Promise<UnitOfWork> {
    if (this.#over)
      return Promise.reject(new HoldfastError('tool_failed', 'the call that this query belongs to is over'))
    this.#begun ??= this.#begin()
    return this.#opened.promise
  }

  /** Reads without holding the database while it is free; inside the transaction through it. */
  async read<T>(read: (unit?: UnitOfWork) => Promise<T>): Promise<T> {
    if (this.#begun) return read(await this.#opened.promise)
    const reading = read()
    this.#reading.add(reading)
    return await reading.finally(() => this.#reading.delete(reading))
  }

  /** Ends the call with what is to commit beside the tool's own writes. */
  async finish(result: Work): Promise<void> {
    this.#begun ??= this.#begin()
    this.#over = true
    this.#finished.resolve(result)
    await this.#begun
  }

  /** Ends the call without a trace. */
  async abandon(reason: unknown): Promise<void> {
    this.#over = true
    this.#finished.reject(reason)
    await this.#begun?.catch(() => undefined)
  }

  async #begin(): Promise<void> {
    // A read that is under way may itself have to write what it has fetched, and would wait for this transaction.
    await Promise.allSettled(this.#reading)
    const done = this.inTransaction(async unit => {
      this.#opened.resolve(unit)
      return await (await this.#finished.promise)(unit)
    })
    done.catch(error => this.#opened.reject(error))
    await done
  }
}

/** The documents of a tool; the first look at one begins the transaction. */
export function localDocuments(local: LocalCall, open: (unit: UnitOfWork) => DocumentEditor) {
  let editor: DocumentEditor | null = null
  const opened = async () => {
    const unit = await local.unit()
    editor ??= open(unit)
    return editor
  }
  return {
    read: async (name: string) => (await opened()).read(name),
    write: async (name: string, text: string) => (await opened()).write(name, text),
    drafts: (): readonly Draft[] => editor?.drafts ?? [],
  }
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return {promise, resolve, reject}
}
