import {HoldfastError} from '../protocol/errors.ts'

/**
 * Keeps the current token in memory only: it never reaches the log, the database, the model or an error. [VIEW-5]
 * Subject and tenant are read from its claims just to name the author of an event and whose a trace is; the server checks
 * them.
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
    return this.#claim('sub')
  }

  tenant(): string | null {
    return this.#claim('tenant')
  }

  #claim(name: 'sub' | 'tenant'): string | null {
    const claims = this.#token?.split('.')[1]
    if (!claims) return null
    try {
      const bytes = atob(claims.replaceAll('-', '+').replaceAll('_', '/'))
      const text = new TextDecoder().decode(Uint8Array.from(bytes, byte => byte.charCodeAt(0)))
      const value = (JSON.parse(text) as Record<string, unknown>)[name]
      return typeof value === 'string' ? value : null
    } catch {
      return null
    }
  }
}
