import {HoldfastError} from '../protocol/errors.ts'
import {backoffMs} from './back-off.ts'
import type {HttpLinkOptions} from './http-link.ts'

/** Milliseconds after which a token function is treated as failed. */
const patienceMs = 30_000

/**
 * Keeps the current token in memory only. It reaches no log, database, model or error, and its content is never read.
 * [VIEW-5] A token is requested when there is none or the server has refused the last one, with back-off while the
 * results are refused or missing, however many requests need one. [SYNC-6]
 */
export class TokenKeeper {
  #held: string | null = null
  #asking: Promise<string> | null = null
  #bring: ((token: string | null, failed: boolean | string) => void) | null = null
  /** Consecutive requests for a token without one that the server accepted. */
  #failures = 0
  #askAt = 0
  /** Why the last request returned no token. */
  #lacking: unknown = null

  constructor(
    private readonly parts: {
      /** Null when no person is signed in. */
      ask(): Promise<string | null>
      /** Milliseconds on a monotonic clock: a wall clock that is set back would lengthen the pause. */
      elapsed(): number
      random(): number
    },
  ) {}

  /**
   * @throws HoldfastError `unauthenticated` when no person is signed in, `offline` when the application provided no token
   */
  async get(): Promise<string> {
    if (this.#held !== null) return this.#held
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return await this.#asking
  }

  /** Forgets the token, so that the next request asks the application again: another person may be signed in. */
  renew(): void {
    this.#held = null
    this.#failures = 0
  }

  /** Returns the options for `httpLink`. */
  forLink(): Pick<HttpLinkOptions, 'token' | 'onTokenRefused' | 'onTokenTaken' | 'onTokenRetry'> {
    return {
      token: () => this.get(),
      onTokenRefused: token => this.refused(token),
      onTokenTaken: token => this.taken(token),
      onTokenRetry: () => this.retry(),
    }
  }

  /** Ends the pause after a request without a token. The number of failures stays, so the next pause is not shorter. */
  retry(): void {
    this.#askAt = this.parts.elapsed()
  }

  /** Sets a token from a page. Null: no person is signed in there. `failed`: the page could not get one, and why. */
  set(token: string | null, failed: boolean | string = false): void {
    if (token !== null) this.#held = token
    this.#bring?.(token, failed)
  }

  /** The server has accepted this token. */
  taken(token: string): void {
    if (token === this.#held) this.#failures = 0
  }

  /** The server has refused this token. */
  refused(token: string): void {
    if (token === this.#held) this.#held = null
  }

  async #ask(): Promise<string> {
    const {ask, elapsed, random} = this.parts
    const wait = this.#failures === 0 ? 0 : this.#askAt - elapsed()
    if (wait > 0)
      throw this.#lacking ?? none(`The application will be asked for a token again in ${Math.ceil(wait / 1000)} s.`)
    this.#failures += 1
    this.#askAt = elapsed() + backoffMs(this.#failures, random())
    try {
      const token = await this.#answer(ask).catch(cause => {
        // Tokens often come from the server, so "offline" is more likely than "signed out".
        throw noToken(cause)
      })
      if (typeof token !== 'string' || token === '') throw none('Nobody is signed in: the application has no token.')
      this.#held = token
      this.#lacking = null
      return token
    } catch (error) {
      this.#lacking = error
      throw error
    }
  }

  /** Resolves with the function's result or a token that a page sets, whichever is first; fails after a timeout. */
  #answer(ask: () => Promise<string | null>): Promise<string | null> {
    return new Promise<string | null>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the token function did not answer in time')), patienceMs)
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.#bring = null
        end()
      }
      this.#bring = (token, failed) => settle(() => (failed ? reject(pageHasNone(failed)) : resolve(token)))
      // A function that is not async may throw at once.
      Promise.resolve()
        .then(ask)
        .then(
          token => settle(() => resolve(token)),
          error => settle(() => reject(error)),
        )
    })
  }
}

/** `failed`: a sentence for the person, or true when there is none. */
function pageHasNone(failed: true | string): Error {
  return failed === true ? new Error('The page has no token.') : new HoldfastError('offline', failed)
}

/** The message of a HoldfastError is written for the person. The words of any other error are details. */
function noToken(cause: unknown): HoldfastError {
  if (HoldfastError.is(cause)) return new HoldfastError('offline', cause.message, {cause})
  return new HoldfastError('offline', 'The application did not provide a token. It will be asked again.', {cause})
}

function none(message: string): HoldfastError {
  return new HoldfastError('unauthenticated', message)
}
