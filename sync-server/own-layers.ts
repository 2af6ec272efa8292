import type {DataLayer, ErasureScope} from './data-layer.ts'
import type {Store} from './storage/store.ts'

/** The store's data of sessions that the erasure transaction does not cover. The export reads its tables separately. */
export function ownLayers({tokens}: Pick<Store, 'tokens'>): DataLayer[] {
  return [
    {
      name: 'token streams',
      erase: scope => inEach(scope, tokens.erase),
      expiry: {rule: 'tokenStreams', before: cutoff => tokens.forget(cutoff, 100)},
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
