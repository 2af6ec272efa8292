import {within} from './within.ts'

/** Chromium never settles a request that is pending when the site's data is deleted. */
const patienceMs = 2_000

/** Names of the IndexedDB databases of this origin. Rejects with `deadline` after 2 s. */
export async function indexedDbNames(): Promise<Set<string | undefined>> {
  const databases = await within(patienceMs, indexedDB.databases())
  return new Set(databases.map(({name}) => name))
}
