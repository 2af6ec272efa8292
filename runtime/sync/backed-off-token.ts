import {HoldfastError} from '../protocol/errors.ts'
import {backoffMs} from './back-off.ts'

export type TokenSource = {
  get(): Promise<string>
  /** Resets the pause, because the person or the network has changed something. */
  retry(): void
}

/**
 * Calls `token` once at a time, and after a failure not before a growing pause has passed. Until then the same error is
 * thrown at once, so that requests do not overload a failing login. [SYNC-6]
 */
export function backedOffToken(
  token: () => Promise<string>,
  elapsed = () => performance.now(),
  random = Math.random,
): TokenSource {
  let asking: Promise<string> | null = null
  let failures = 0
  let failed: {error: unknown; until: number} | null = null

  const ask = async () => {
    try {
      const value = await token()
      failures = 0
      failed = null
      return value
    } catch (caught) {
      // No token is available yet. Asking again costs nothing, so there is no pause.
      if (HoldfastError.is(caught, 'unauthenticated')) throw caught
      failures += 1
      const error = HoldfastError.from(caught, 'offline')
      failed = {error, until: elapsed() + backoffMs(failures, random())}
      throw error
    } finally {
      asking = null
    }
  }

  return {
    async get() {
      if (failed && elapsed() < failed.until) throw failed.error
      asking ??= ask()
      return await asking
    },
    retry() {
      failed = null
      failures = 0
    },
  }
}
