import {addressOf} from './address.ts'
import {navigate} from './hooks.ts'
import {isPerson, type Person} from './people.ts'
import type {BrowserRuntime} from './runtime-types.ts'
import {local} from './safe-storage.ts'

const key = 'demo-person'
const nobody = 'nobody'
const listeners = new Set<() => void>()

/** Stands in for the login of a real application: which of its people has signed in at this browser. */
export const signIn = {
  get(): Person | null {
    const name = local.read(key) ?? 'maya'
    return isPerson(name) ? name : null
  },
  set(person: Person | null): void {
    local.write(key, person ?? nobody)
    for (const listener of [...listeners]) listener()
  },
  subscribe(listener: () => void): () => void {
    const inOtherTab = (event: StorageEvent) => event.key === key && listener()
    listeners.add(listener)
    addEventListener('storage', inOtherTab)
    return () => {
      listeners.delete(listener)
      removeEventListener('storage', inOtherTab)
    }
  },
}

/** Signs a person in and brings the desk to their conversations. */
export async function become(person: Person, runtime: BrowserRuntime | null): Promise<void> {
  signIn.set(person)
  navigate(addressOf(null), {replace: true})
  await runtime?.switchPerson()
}
