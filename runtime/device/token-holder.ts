import {HoldfastError} from '../protocol/errors.ts'

/**
 * Keeps the current token in memory only: it never reaches the log, the database, the model or an error. [VIEW-5]
 * The subject is read from the token's claims just to name the author of an event; the server checks it.
 */
export class TokenHolder {
  #token: string | null

  constructor(token: string | null) {
    this.#token = token
  }

  set(token: string): void {
    this.#token = token
  }

  async get(): Promise<string> {
    if (this.#token) return this.#token
    throw new HoldfastError('unauthenticated', 'this device has no token yet')
  }

  subject(): string | null {
    const claims = this.#token?.split('.')[1]
    if (!claims) return null
    try {
      const bytes = atob(claims.replaceAll('-', '+').replaceAll('_', '/'))
      const text = new TextDecoder().decode(Uint8Array.from(bytes, byte => byte.charCodeAt(0)))
      const {sub} = JSON.parse(text) as {sub?: unknown}
      return typeof sub === 'string' ? sub : null
    } catch {
      return null
    }
  }
}
