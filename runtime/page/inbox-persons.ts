import type {Person} from '../protocol/person.ts'
import {isSamePerson} from '../protocol/person.ts'
import {type InboxMemory, processInboxMemory} from './inbox-memory.ts'
import {ownerOf, type PeopleIndex, type Place, placeFor, switchedTo} from './people.ts'

/**
 * Several persons may use one inbox in turn. Each has a separate memory of keys, signed decisions and the list. [ID-6,
 * APP-4]
 */
export type InboxMemories = {
  /** The memory of the last person, so that the inbox works offline; after the server names a person, theirs. */
  readonly memory: InboxMemory
  /** Changes to this person's memory. Returns true if the memory has changed. */
  become(person: Person): Promise<boolean>
  /** Uses no stored memory until the server names a person. `wipe` also deletes the memory of the person who leaves. */
  leave(options: {wipe: boolean}): Promise<void>
}

/**
 * One memory for every person: used when the application separates persons itself, or when the memory ends with the
 * page.
 */
export function oneInboxMemory(memory: InboxMemory): InboxMemories {
  const leave = async ({wipe}: {wipe: boolean}) => (wipe ? memory.clear() : undefined)
  return {memory, become: async () => false, leave}
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
    // After a sign-out, the previous person's memory must not be shown to the next person.
    opening ??= index.read().then(({current}) => (current === null ? processInboxMemory() : openAt(current)))
    return opening
  }
  return {
    memory: {
      load: async () => (await current()).load(),
      saveKey: async key => (await current()).saveKey(key),
      saveSeen: async seen => (await current()).saveSeen(seen),
      saveDecision: async decision => (await current()).saveDecision(decision),
      dropDecision: async nonce => (await current()).dropDecision(nonce),
      clear: async () => (await current()).clear(),
    },
    async become(person) {
      await current()
      const fresh = await placeFor(person)
      const people = await index.change(now => {
        // A memory from before the server named anyone belongs to the first person it names.
        const owner = place === null ? null : ownerOf(now, place)
        const isOwn = place !== null && (!owner || isSamePerson(owner, person))
        return switchedTo(now, person, isOwn ? (place ?? fresh) : fresh)
      })
      if (people.current === place || people.current === null) return false
      await openAt(people.current)
      return true
    },
    async leave({wipe}) {
      const left = await current()
      const from = place
      if (wipe) await left.clear()
      await index.change(now => {
        const known = wipe ? now.known.filter(each => each.place !== from) : now.known
        return {...now, known, current: now.current === from ? null : now.current}
      })
      place = null
      opening = Promise.resolve(processInboxMemory())
    },
  }
}
