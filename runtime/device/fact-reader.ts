import type {Environment} from '../protocol/environment.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {FactReading} from '../protocol/fact.ts'
import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {ServerLink} from '../sync/server-link.ts'

export type FactReader = {
  read(key: string, unit?: UnitOfWork): Promise<FactReading | null>
  /** Brings the device's copy up to date, if it has one: the server said that the fact has changed. */
  refresh(key: string): Promise<void>
}

type Parts = {store: DeviceStore; link: Pick<ServerLink, 'fact'> | null; environment: Environment}

/**
 * Reads a business fact: the server's word when it answers, else this device's copy with its age. [FACT-2, MEM-4]
 *
 * @throws HoldfastError `offline` when there is neither
 */
export function factReader({store, link, environment}: Parts): FactReader {
  return {
    read,
    async refresh(key) {
      if (await store.fact(key)) await read(key)
    },
  }

  async function read(key: string, unit?: UnitOfWork): Promise<FactReading | null> {
    // Inside a unit of work the database waits for us, so the network must not be waited for.
    if (unit || !link) return replica(unit ?? store, key)
    try {
      const fact = await link.fact(key)
      if (!fact) return null
      await store.saveFact(fact, environment.now())
      return {...fact, source: 'server', ageMs: 0}
    } catch (error) {
      if (!HoldfastError.is(error, 'offline', 'deadline', 'unauthenticated', 'token_expired', 'rate_limited'))
        throw error
      return replica(store, key)
    }
  }

  async function replica(from: Pick<DeviceStore, 'fact'>, key: string): Promise<FactReading> {
    const copy = await from.fact(key)
    if (!copy) throw new HoldfastError('offline', `${key}: the server cannot be reached and this device has no copy`)
    const {fetchedAt, ...fact} = copy
    return {...fact, source: 'replica', ageMs: Math.max(0, environment.now() - fetchedAt)}
  }
}
