import {createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters} from 'jose'
import * as z from 'zod'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {withDeadline} from './authority/deadline.ts'

export type KeySetTimes = {
  /** Keys are fetched again after this time (ms). Default: 10 minutes. */
  freshMs: number
  /** While the key server is unreachable, cached keys stay valid for this time (ms). Default: 24 hours. */
  heldMs: number
  /** After an unknown key id, the set is not fetched again for this time (ms). Default: 30 seconds. */
  unknownMs: number
  /** Initial back-off (ms) after a failed fetch; doubles up to `unknownMs`. Default: 250 ms. */
  pauseMs: number
  /** Timeout of a fetch (ms). Default: 5 seconds. */
  fetchMs: number
}

const standardTimes: KeySetTimes = {
  freshMs: 600_000,
  heldMs: 86_400_000,
  unknownMs: 30_000,
  pauseMs: 250,
  fetchMs: 5000,
}

const keySetSchema = z.looseObject({keys: z.array(z.looseObject({kty: z.string()})).max(1000)})

type LocalSet = ReturnType<typeof createLocalJWKSet>
type KeyFor = (...ask: Ask) => ReturnType<LocalSet>
type Held = {keyFor: KeyFor; at: number}
type Ask = [header?: JWSHeaderParameters, token?: FlattenedJWSInput]

/**
 * Returns a cached key resolver for `jose`. The times limit how often keys are fetched, whatever key ids tokens
 * contain. While the key server is unreachable, cached keys stay valid.
 *
 * @throws HoldfastError `unavailable` if the key is not cached and the key server is unreachable
 */
export function remoteKeySet(url: URL, times: Partial<KeySetTimes> = {}, now = () => performance.now()): KeyFor {
  const set = new RemoteKeySet(url, {...standardTimes, ...times}, now)
  return (...ask) => set.keyFor(ask)
}

class RemoteKeySet {
  #held: Held | null = null
  #fetching: Promise<void> | null = null
  #failures = 0
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(
    private readonly url: URL,
    private readonly times: KeySetTimes,
    private readonly now: () => number,
  ) {}

  async keyFor(ask: Ask): Promise<Awaited<ReturnType<LocalSet>>> {
    if (!this.#isYounger(this.times.freshMs)) await this.#refresh()
    const held = this.#usable()
    try {
      return await held.keyFor(...ask)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      // The key may be new, so refresh once. `#notBefore` prevents another fetch for the next unknown key id.
      const looked = await this.#refresh()
      const newer = this.#usable()
      if (newer === held && looked === 'failed') throw away()
      return newer.keyFor(...ask)
    }
  }

  #usable(): Held {
    if (this.#held && this.#isYounger(this.times.heldMs)) return this.#held
    throw away()
  }

  #isYounger(ms: number): boolean {
    return this.#held !== null && this.now() - this.#held.at < ms
  }

  /** Fetches the keys, at most one fetch at a time and not before the back-off ends. */
  async #refresh(): Promise<'fetched' | 'failed' | 'not_yet'> {
    if (!this.#fetching && this.now() < this.#notBefore) return this.#failures > 0 ? 'failed' : 'not_yet'
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = null
    })
    await this.#fetching
    return this.#failures > 0 ? 'failed' : 'fetched'
  }

  async #fetch(): Promise<void> {
    const {fetchMs, pauseMs, unknownMs} = this.times
    try {
      const keys = await withDeadline('The key server', fetchMs, signal => fetchKeys(this.url, signal))
      this.#held = {keyFor: createLocalJWKSet(keys), at: this.now()}
      this.#failures = 0
      this.#notBefore = this.now() + unknownMs
    } catch {
      this.#notBefore = this.now() + Math.min(unknownMs, pauseMs * 2 ** this.#failures)
      this.#failures += 1
    }
  }
}

async function fetchKeys(url: URL, signal: AbortSignal): Promise<JSONWebKeySet> {
  const response = await fetch(url, {signal, headers: {accept: 'application/json'}, redirect: 'manual'})
  if (response.status !== 200) throw new Error(`the key server answered with status ${response.status}`)
  return keySetSchema.parse(await response.json()) as JSONWebKeySet
}

function away(): HoldfastError {
  return new HoldfastError('unavailable', 'The key server cannot be reached, and the key of this token is not held.')
}
