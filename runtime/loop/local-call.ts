import type {DocumentEditor} from '../documents/document-editor.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {Draft} from '../protocol/event.ts'
import type {UnitOfWork} from '../storage/device-store.ts'

type Work = (unit: UnitOfWork) => Promise<readonly Draft[]>
/** Appends the drafts that `work` returns, in one transaction with its writes. If it throws, nothing is stored. */
type InTransaction = (work: Work) => Promise<void>

/**
 * The transaction of one local call. It starts when the tool first uses the database and ends with the call's result,
 * so slow work before it blocks no other write. Effect and result still commit together, once. [OP-1]
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
    // Rejections reach those who await these promises; without one they must not count as unhandled.
    this.#opened.promise.catch(() => undefined)
    this.#finished.promise.catch(() => undefined)
  }

  /** Starts the transaction if needed and returns it, for the tool's queries. */
  unit(): Promise<UnitOfWork> {
    if (this.#over)
      return Promise.reject(new HoldfastError('tool_failed', 'The tool call of this query has already ended.'))
    this.#begun ??= this.#begin()
    return this.#opened.promise
  }

  /** Reads outside of the transaction before it has started, and through it afterwards. */
  async read<T>(read: (unit?: UnitOfWork) => Promise<T>): Promise<T> {
    if (this.#begun) return read(await this.#opened.promise)
    const reading = read()
    this.#reading.add(reading)
    return await reading.finally(() => this.#reading.delete(reading))
  }

  /** Ends the call and commits its result with the tool's writes. */
  async finish(result: Work): Promise<void> {
    this.#begun ??= this.#begin()
    this.#over = true
    this.#finished.resolve(result)
    await this.#begun
  }

  /** Ends the call and rolls back. */
  async abandon(reason: unknown): Promise<void> {
    this.#over = true
    this.#finished.reject(reason)
    await this.#begun?.catch(() => undefined)
  }

  async #begin(): Promise<void> {
    // A running read may have to write what it fetched, and would then wait for this transaction.
    await Promise.allSettled(this.#reading)
    const done = this.inTransaction(async unit => {
      this.#opened.resolve(unit)
      return await (await this.#finished.promise)(unit)
    })
    done.catch(error => this.#opened.reject(error))
    await done
  }
}

/** The documents of a tool. The first use starts the transaction. */
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
