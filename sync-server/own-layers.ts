import type {Environment} from '../runtime/protocol/environment.ts'
import type {DataLayer, ErasureScope} from './data-layer.ts'
import type {Store} from './storage/store.ts'

/** What the store keeps of sessions and subjects outside of the transaction of an erasure; its export has their tables. */
export function ownLayers({tokens, memory}: Store, environment: Environment): DataLayer[] {
  return [
    {
      name: 'token streams',
      erase: scope => inEach(scope, tokens.erase),
      records: none,
    },
    {
      name: 'memory',
      derived: true,
      erase: async ({tenant, subject, sessions, whole}) => {
        const owner = {tenant, subject}
        const at = environment.now()
        if (whole) return (await memory.eraseBySubject(owner, at)).items.length
        let removed = 0
        for (const session of sessions) {
          removed += (await memory.eraseBySession({...owner, session}, at)).items.length
        }
        return removed
      },
      records: none,
    },
  ]
}

type Erase = Store['tokens']['erase']

async function inEach({tenant, subject, sessions, whole}: ErasureScope, erase: Erase): Promise<number> {
  if (whole) return erase({tenant, subject})
  let removed = 0
  for (const session of sessions) removed += await erase({tenant, subject, session})
  return removed
}

async function* none() {}
