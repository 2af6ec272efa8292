import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {MortalProcess} from './crash-points.ts'

/** What changes a store besides its transactions; everything else it has only reads. */
const writes: readonly PropertyKey[] = [
  'setOnline',
  'setOwner',
  'saveFact',
  'renewFact',
  'forgetFact',
  'saveAgents',
  'markBlob',
  'scrub',
] satisfies (keyof DeviceStore)[]

/** Answered from memory, at once: to wait for these would change what they say. */
const atOnce: readonly PropertyKey[] = ['highWater'] satisfies (keyof DeviceStore)[]

/**
 * The store of a process that can die before and after each of its transactions and other writes, and inside of one
 * that has appended and not committed. Once dead it reads and writes nothing.
 *
 * @example
 * const points = new CrashPoints(7)
 * const store = crashableStore(await openPGliteStore(db, environment), points.process('laptop'))
 */
export function crashableStore(store: DeviceStore, process: MortalProcess): DeviceStore {
  return proxied(store, (name, method) => {
    if (name === 'transaction') {
      const transaction: DeviceStore['transaction'] = work =>
        process.between('a transaction', () => store.transaction(unit => work(mortalUnit(unit, process))))
      return transaction
    }
    if (atOnce.includes(name)) return method
    if (writes.includes(name)) return (...args: unknown[]) => process.between(String(name), () => method(...args))
    return async (...args: unknown[]) => {
      process.alive()
      const result = await method(...args)
      process.alive()
      return result
    }
  })
}

/** A transaction under way when its process dies is rolled back, wherever it was. */
function mortalUnit(unit: UnitOfWork, process: MortalProcess): UnitOfWork {
  return proxied(unit, (name, method) => {
    process.alive()
    if (name !== 'append') return method
    return async (...args: unknown[]) => {
      await method(...args)
      process.point('inside a transaction')
    }
  })
}

type Method = (...args: unknown[]) => Promise<unknown>

/** The same object with its methods replaced; one that a later version adds is wrapped like the others. */
export function proxied<T extends object>(target: T, wrap: (name: PropertyKey, method: Method) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name)
      return typeof value === 'function' ? wrap(name, value.bind(object) as Method) : value
    },
  })
}
