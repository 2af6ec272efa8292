import {HoldfastError} from '../protocol/errors.ts'
import {backoffMs} from './back-off.ts'
import type {HttpLinkOptions} from './http-link.ts'

/** Milliseconds after which a token that was asked for and has not come is asked for again. */
const patienceMs = 30_000

/**
 * Keeps the current token in memory only: it reaches no log, no database, no model and no error, and nobody reads what is
 * in it. [VIEW-5] One is asked for when there is none or the server has refused the last; asking that brings nothing that
 * the server takes is repeated with back-off, however often a request needs one. [SYNC-6]
 */
export class TokenKeeper {
  #held: string | null = null
  #asking: Promise<string> | null = null
  #bring: ((token: string | null, failed: boolean) => void) | null = null
  /** Tokens asked for in a row without one that the server took. */
  #failures = 0
  #askAt = 0
  /** Why the last ask brought none. */
  #lacking: unknown = null

  constructor(
    private readonly parts: {
      /** Null when nobody is signed in. */
      ask(): Promise<string | null>
      /** Milliseconds on a monotonic clock: a wall clock that is set back would lengthen the pause. */
      elapsed(): number
      random(): number
    },
  ) {}

  /** @throws HoldfastError `unauthenticated` when nobody is signed in, `offline` when the application could not bring one */
  async get(): Promise<string> {
    if (this.#held !== null) return this.#held
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null
    })
    return await this.#asking
  }

  /** Forgets the token, so that the next request asks the application again: somebody else may be signed in. */
  renew(): void {
    this.#held = null
    this.#failures = 0
  }

  /** What a link needs of it. */
  forLink(): Pick<HttpLinkOptions, 'token' | 'onTokenRefused' | 'onTokenTaken'> {
    return {
      token: () => this.get(),
      onTokenRefused: token => this.refused(token),
      onTokenTaken: token => this.taken(token),
    }
  }

  /** A token that was brought unasked, or null from a page where nobody is signed in, or that could not find out. */
  set(token: string | null, failed = false): void {
    if (token !== null) this.#held = token
    this.#bring?.(token, failed)
  }

  /** A request with this token was let in. */
  taken(token: string): void {
    if (token === this.#held) this.#failures = 0
  }

  /** The server does not take this token any more. */
  refused(token: string): void {
    if (token === this.#held) this.#held = null
  }

  async #ask(): Promise<string> {
    const {ask, elapsed, random} = this.parts
    const wait = this.#failures === 0 ? 0 : this.#askAt - elapsed()
    if (wait > 0) throw this.#lacking ?? none(`A token is asked for again in ${Math.ceil(wait / 1000)} s.`)
    this.#failures += 1
    this.#askAt = elapsed() + backoffMs(this.#failures, random())
    try {
      const token = await this.#answer(ask).catch(cause => {
        // A token often comes from the server: offline is more likely than signed out.
        throw new HoldfastError('offline', 'The application could not bring a token; it is asked again.', {cause})
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

  /** Whichever comes first: the answer, one that was brought meanwhile, or the end of patience. */
  #answer(ask: () => Promise<string | null>): Promise<string | null> {
    return new Promise<string | null>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no token came')), patienceMs)
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.#bring = null
        end()
      }
      this.#bring = (token, failed) => settle(() => (failed ? reject(new Error('the page has none')) : resolve(token)))
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

function none(message: string): HoldfastError {
  return new HoldfastError('unauthenticated', message)
}
