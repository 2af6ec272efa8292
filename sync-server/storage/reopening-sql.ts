import * as z from 'zod'
import {checkOptions, functionSchema, positiveMs} from '../../runtime/protocol/check-options.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type LogLine, loggedError, openLog} from '../../runtime/protocol/log-line.ts'
import type {Sql} from './sql.ts'

/**
 * Opens a database in this process that can stop and be opened again. `again` is true after a stop: the database
 * existed before, so the function must refuse to create an empty one in its place. [LOG-9]
 */
export type Opening = (again: boolean) => Promise<{sql: Sql; close(): Promise<void>}>

export type ReopeningOptions = {
  log?: ((line: LogLine) => void) | undefined
  /** Initial back-off before reopening (ms); doubles up to `longestPauseMs`. Default: 500. */
  pauseMs?: number
  /** Maximum back-off (ms). Default: 30,000. */
  longestPauseMs?: number
  /**
   * Called instead of reopening, for a host whose supervisor restarts the process: it should exit with a nonzero status.
   * Meanwhile requests are answered with `unavailable`.
   */
  onStopped?: ((error: unknown) => void) | undefined
}

const reopeningOptions = z.strictObject({
  log: functionSchema.optional(),
  pauseMs: positiveMs.optional(),
  longestPauseMs: positiveMs.optional(),
  onStopped: functionSchema.optional(),
})

/**
 * Creates a `Sql` over a PGlite that stops at its first fault, for example a full disk. After a fault every call is
 * refused as `unavailable` until the database is open again. Reopening is retried with exponential back-off.
 *
 * @example
 * const {sql, close} = await reopeningSql(async again => {
 *   const {db, close} = await openNodeDatabase({dataDir: 'data', mustExist: again})
 *   return {sql: pgliteSql(db), close}
 * })
 */
export async function reopeningSql(
  open: Opening,
  options: ReopeningOptions = {},
): Promise<{sql: Sql; close(): Promise<void>}> {
  checkOptions(functionSchema, open, 'reopeningSql: open')
  checkOptions(reopeningOptions, options, 'reopeningSql')
  const reopening = new Reopening(open, options)
  await reopening.open()
  return {
    sql: {
      query: (text, params) => reopening.use(sql => sql.query(text, params)),
      transaction: work => reopening.use(sql => sql.transaction(work)),
    },
    close: () => reopening.close(),
  }
}

type Opened = Awaited<ReturnType<Opening>>

class Reopening {
  #opened: Opened | null = null
  #closed = false
  #cause: unknown
  #coming: Promise<void> = Promise.resolve()
  #wake: () => void = () => undefined

  constructor(
    private readonly opening: Opening,
    private readonly options: ReopeningOptions,
  ) {}

  async open(): Promise<void> {
    this.#opened = await this.opening(false)
  }

  async use<T>(work: (sql: Sql) => Promise<T>): Promise<T> {
    const opened = this.#opened
    if (!opened) throw unavailable(this.#cause)
    try {
      return await work(opened.sql)
    } catch (error) {
      if (HoldfastError.is(error, 'storage_full')) throw unavailable(error)
      if (!HoldfastError.is(error, 'peer_gone') && !lacksFiles(error)) throw error
      this.#stopped(opened, error)
      throw unavailable(error)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#wake()
    await this.#coming
    await this.#opened?.close()
  }

  #stopped(opened: Opened, error: unknown): void {
    if (opened !== this.#opened) return
    this.#opened = null
    this.#cause = error
    this.#tell('database.stopped', error)
    const {onStopped} = this.options
    if (onStopped) {
      this.#coming = opened.close().catch(() => undefined)
      onStopped(error)
    } else this.#coming = this.#comeBack(opened)
  }

  async #comeBack(opened: Opened): Promise<void> {
    await opened.close().catch(() => undefined)
    const {pauseMs = 500, longestPauseMs = 30_000} = this.options
    for (let tries = 0; !this.#closed && !this.#opened; tries++) {
      await this.#rest(Math.min(pauseMs * 2 ** tries, longestPauseMs))
      if (this.#closed) return
      try {
        this.#opened = await this.opening(true)
        this.#tell('database.reopened')
      } catch (error) {
        // Log a cause only when it changes, not on every attempt.
        if (messageOf(error) !== messageOf(this.#cause)) this.#tell('database.stopped', error)
        this.#cause = error
      }
    }
  }

  #rest(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #tell(event: 'database.stopped' | 'database.reopened', error?: unknown): void {
    openLog(this.options.log, Date.now)(event, {}, error === undefined ? undefined : loggedError(error))
  }
}

/** True if database files are missing or cannot be read or written (SQLSTATE class 58). */
function lacksFiles(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^58...$/.test(String(error.code))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function unavailable(cause: unknown): HoldfastError {
  return new HoldfastError('unavailable', 'The database has stopped and is being opened again.', {cause})
}
