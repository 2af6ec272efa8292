import {addressOf} from './address.ts'
import {navigate} from './hooks.ts'
import {leftPersons} from './left-persons.ts'
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
    const before = signIn.get()
    if (person) leftPersons.remove(person)
    else if (before) leftPersons.add(before)
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

/** Signs a person out of the approvals, and out of the desk if they are signed in there too. */
export function leaveInbox(person: Person): void {
  if (signIn.get() === person) signIn.set(null)
  else leftPersons.add(person)
}

/** Signs a person in and brings the desk to their conversations. */
export async function become(person: Person, runtime: BrowserRuntime | null): Promise<void> {
  signIn.set(person)
  navigate(addressOf(null), {replace: true})
  await runtime?.switchPerson()
}
