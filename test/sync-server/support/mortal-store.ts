import type {Store} from '../../../sync-server/index.ts'

/**
 * A store that dies with its process: at its n-th transaction, either before it commits or just after, and for good.
 * What was committed stays in the database below, for the next process to find.
 */
export function mortalStore(store: Store, death: {transaction: number; when: 'before' | 'after'}) {
  let transactions = 0
  let dead = false
  const die = (): never => {
    dead = true
    throw new Error('killed')
  }
  const alive = () => {
    if (dead) die()
  }
  const guarded: Store = {
    ...store,
    ledger: {
      operation: async ref => {
        alive()
        return store.ledger.operation(ref)
      },
      uncertain: async (...asked) => {
        alive()
        return store.ledger.uncertain(...asked)
      },
    },
    due: {
      claim: async options => {
        alive()
        return store.due.claim(options)
      },
      claimOne: async (ref, options) => {
        alive()
        return store.due.claimOne(ref, options)
      },
      postpone: async (item, dueAt) => {
        alive()
        return store.due.postpone(item, dueAt)
      },
      finish: async item => {
        alive()
        return store.due.finish(item)
      },
      takeOver: async now => {
        alive()
        return store.due.takeOver(now)
      },
    },
    sessions: {
      ...store.sessions,
      locked: async (key, work) => {
        alive()
        transactions++
        const last = transactions === death.transaction
        if (last && death.when === 'before') die()
        const result = await store.sessions.locked(key, work)
        return last ? die() : result
      },
    },
  }
  return {store: guarded, kill: die, isDead: () => dead}
}
