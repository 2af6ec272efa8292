import type {Person} from '../protocol/person.ts'
import {isSamePerson} from '../protocol/person.ts'
import type {InboxMemory} from './inbox-memory.ts'
import {ownerOf, type PeopleIndex, type Place, placeFor, switchedTo} from './people.ts'

/** Several persons may use one inbox in turn: each has keys, signed decisions and a list of their own. [ID-6, APP-4] */
export type InboxMemories = {
  /** Of whoever used it last, so that it works offline; of whom the server has named since. */
  readonly memory: InboxMemory
  /** True when another person's memory is used from now on. */
  become(person: Person): Promise<boolean>
}

/** One memory for whoever uses it: of an application that names persons itself, or that ends with the page. */
export function oneInboxMemory(memory: InboxMemory): InboxMemories {
  return {memory, become: async () => false}
}

export function inboxMemories(index: PeopleIndex, memoryAt: (place: Place) => InboxMemory): InboxMemories {
  let opening: Promise<InboxMemory> | null = null
  let place: Place | null = null
  const openAt = (next: Place) => {
    place = next
    opening = Promise.resolve(memoryAt(next))
    return opening
  }
  const current = () => {
    opening ??= index.read().then(people => openAt(people.current ?? ''))
    return opening
  }
  return {
    memory: {
      load: async () => (await current()).load(),
      saveKey: async key => (await current()).saveKey(key),
      saveSeen: async seen => (await current()).saveSeen(seen),
      saveDecision: async decision => (await current()).saveDecision(decision),
      dropDecision: async nonce => (await current()).dropDecision(nonce),
    },
    async become(person) {
      await current()
      const fresh = await placeFor(person)
      const people = await index.change(now => {
        // What was kept before anybody was named is of the first who is.
        const owner = ownerOf(now, place ?? '')
        return switchedTo(now, person, !owner || isSamePerson(owner, person) ? (place ?? '') : fresh)
      })
      if (people.current === place || people.current === null) return false
      await openAt(people.current)
      return true
    },
  }
}
