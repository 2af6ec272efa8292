import {isPerson, type Person} from './people.ts'
import {local} from './safe-storage.ts'

const key = 'demo-signed-out'
const listeners = new Set<() => void>()

/**
 * The people who signed out at this browser and have not signed in again. The approvals page shows other people than the
 * desk, so it needs to know this for each of them.
 */
export const leftPersons = {
  has: (person: Person): boolean => stored().includes(person),
  add(person: Person): void {
    write([...stored().filter(each => each !== person), person])
  },
  remove(person: Person): void {
    write(stored().filter(each => each !== person))
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

function stored(): Person[] {
  return (local.read(key) ?? '').split(' ').filter(isPerson)
}

function write(persons: readonly Person[]): void {
  if (persons.length > 0) local.write(key, persons.join(' '))
  else local.remove(key)
  for (const listener of [...listeners]) listener()
}
