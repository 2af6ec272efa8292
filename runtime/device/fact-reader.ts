import type {Environment} from '../protocol/environment.ts'
import {HoldfastError, isOutOfReach} from '../protocol/errors.ts'
import {batchFacts, type Fact, type FactAnswer, type FactReading} from '../protocol/fact.ts'
import {isStorable} from '../protocol/text.ts'
import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {ServerLink} from '../sync/server-link.ts'

export type FactReader = {
  read(key: string, unit?: UnitOfWork): Promise<FactReading | null>
  /** Several at once, in their order; `offline` when the server cannot be reached and one of them has no copy here. */
  readMany(keys: readonly string[], unit?: UnitOfWork): Promise<(FactReading | null)[]>
  /** Brings the device's copy up to date, if it has one: the server said that the fact has changed. */
  refresh(key: string): Promise<void>
  /** As `refresh`, for every copy: what was said while this device did not listen is not said again. */
  refreshAll(): Promise<void>
}

type Copy = Fact & {fetchedAt: number}
type Parts = {store: DeviceStore; link: Pick<ServerLink, 'fact' | 'facts'> | null; environment: Environment}

/**
 * Reads a business fact: the server's word when it answers, else this device's copy with its age. Nothing here writes
 * one: a copy is only ever what the server has answered. [FACT-1, FACT-2, MEM-4]
 *
 * @throws HoldfastError `offline` when there is neither
 */
export function factReader({store, link, environment}: Parts): FactReader {
  return {
    read,
    readMany,
    async refresh(key) {
      if (await store.fact(key)) await ask([key], store.renewFact)
    },
    async refreshAll() {
      const keys = await store.factKeys()
      for (let i = 0; i < keys.length; i += batchFacts) await ask(keys.slice(i, i + batchFacts), store.renewFact)
    },
  }

  async function read(key: string, unit?: UnitOfWork): Promise<FactReading | null> {
    // A key that no database can store has no fact.
    if (!isStorable(key)) return null
    // Inside a unit of work the database waits for us, so the network must not be waited for.
    if (unit || !link) return replica(unit ?? store, key)
    try {
      const fact = await link.fact(key)
      if (!fact) return await gone(key)
      await store.saveFact(fact, environment.now())
      return {...fact, source: 'server', ageMs: 0}
    } catch (error) {
      if (!isOutOfReach(error)) throw error
      return replica(store, key)
    }
  }

  async function readMany(keys: readonly string[], unit?: UnitOfWork): Promise<(FactReading | null)[]> {
    const storable = keys.filter(isStorable)
    if (storable.length < keys.length) {
      const found = new Map((await readMany(storable, unit)).map((fact, i) => [storable[i], fact]))
      return keys.map(key => found.get(key) ?? null)
    }
    if (keys.length === 0) return []
    if (unit || !link) return replicas(unit ?? store, keys)
    try {
      return await ask(keys, store.saveFact)
    } catch (error) {
      if (!isOutOfReach(error)) throw error
      return replicas(store, keys)
    }
  }

  async function ask(keys: readonly string[], save: DeviceStore['saveFact']): Promise<(FactReading | null)[]> {
    if (!link) return []
    const copies = new Map<string, Copy>()
    for (const key of keys) {
      const copy = await store.fact(key)
      if (copy) copies.set(key, copy)
    }
    const known = Object.fromEntries([...copies].map(([key, {version}]) => [key, version]))
    const readings: (FactReading | null)[] = []
    for (const answer of await link.facts({keys: [...keys], known})) readings.push(await take(answer, copies, save))
    return readings
  }

  /** What is unchanged is the server's word of now too: its copy is as good as new. */
  async function take(
    answer: FactAnswer,
    copies: ReadonlyMap<string, Copy>,
    save: DeviceStore['saveFact'],
  ): Promise<FactReading | null> {
    if ('missing' in answer) return gone(answer.key)
    const fact = 'unchanged' in answer ? copies.get(answer.key) : answer
    if (!fact) throw new HoldfastError('internal', `${answer.key}: the server knows of a copy that is not here`)
    const {key, value, version} = fact
    await save({key, value, version}, environment.now())
    return {key, value, version, source: 'server', ageMs: 0}
  }

  /** Deletes the copy of a deleted fact, which would otherwise be returned offline. */
  async function gone(key: string): Promise<null> {
    await store.forgetFact(key)
    return null
  }

  async function replicas(from: Pick<DeviceStore, 'fact'>, keys: readonly string[]): Promise<FactReading[]> {
    const readings: FactReading[] = []
    for (const key of keys) readings.push(await replica(from, key))
    return readings
  }

  async function replica(from: Pick<DeviceStore, 'fact'>, key: string): Promise<FactReading> {
    const copy = await from.fact(key)
    if (!copy) throw new HoldfastError('offline', `${key}: the server cannot be reached and this device has no copy`)
    const {fetchedAt, ...fact} = copy
    return {...fact, source: 'replica', ageMs: Math.max(0, environment.now() - fetchedAt)}
  }
}
