import {createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters} from 'jose'
import * as z from 'zod'
import {HoldfastError} from '../runtime/protocol/errors.ts'
import {withDeadline} from './authority/deadline.ts'

export type KeySetTimes = {
  /** Keys are fetched anew after this. Default: 10 minutes. */
  freshMs: number
  /** While the key server is away, keys that are held work for this long. Default: 24 hours. */
  heldMs: number
  /** After an unknown key id, the set is not fetched again for this long. Default: 30 seconds. */
  unknownMs: number
  /** First pause after a failed fetch; it doubles up to `unknownMs`. Default: 250 ms. */
  pauseMs: number
  /** Default: 5 seconds. */
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
 * The keys of a key server, as `jose` asks for them. A token cannot make this process ask more often than the times say,
 * whatever key ids it invents, and a key server that is away changes nothing for keys that are held.
 *
 * @throws HoldfastError `unavailable` when no key can be told right or wrong, since the key server is away
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
      // A key that has come since is found by one more look; that nobody has it is remembered by not looking again.
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

  /** One fetch at a time, and none before its time. */
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
