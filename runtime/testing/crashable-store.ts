import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import type {MortalProcess} from './crash-points.ts'

/** The methods that write, besides transactions. All other methods only read. */
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

/** Methods that answer from memory. They stay synchronous: a delay would change their answers. */
const atOnce: readonly PropertyKey[] = ['highWater'] satisfies (keyof DeviceStore)[]

/**
 * Wraps the store of a process that can die before and after each write, and inside a transaction that has not
 * committed. A dead process neither reads nor writes.
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

/** A transaction that is open when its process dies is rolled back. */
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

/** Returns the object with all methods wrapped, including methods that later versions add. */
export function proxied<T extends object>(target: T, wrap: (name: PropertyKey, method: Method) => unknown): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name)
      return typeof value === 'function' ? wrap(name, value.bind(object) as Method) : value
    },
  })
}
