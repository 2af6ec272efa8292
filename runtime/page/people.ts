import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from '../protocol/ids.ts'
import {isSamePerson, type Person} from '../protocol/person.ts'

/** Names one person's database beneath the name or folder that the application gave; '' is the first one made there. */
export type Place = string
export const firstPlace: Place = ''

/**
 * Which database belongs to whom, kept outside of them all, so that the right one is chosen before any is opened and
 * offline. [ID-6]
 */
export const peopleSchema = z.object({
  /** Null after a sign-out: no database is open and nobody's data is shown. */
  current: z.string().nullable(),
  known: z.array(z.object({place: z.string(), tenant: tenantIdSchema, subject: subjectIdSchema})),
  /** To be deleted before they are used again. */
  removing: z.array(z.string()),
  /** Whose user has switched the connection off: nothing is asked for them, not even who they are. */
  cut: z.array(z.string()).default([]),
})
export type People = z.infer<typeof peopleSchema>

export const nobodyYet: People = {current: firstPlace, known: [], removing: [], cut: []}

/** Guarantee: a change is applied to what is stored, also against other tabs, and is on disk when its promise resolves. */
export interface PeopleIndex {
  read(): Promise<People>
  change(change: (people: People) => People): Promise<People>
  /** Another tab has changed it. */
  onChange(listener: () => void): () => void
}

export function ownerOf({known}: People, place: Place): Person | null {
  const found = known.find(each => each.place === place)
  return found ? {tenant: found.tenant, subject: found.subject} : null
}

/** The database at `place` has turned out to be this person's. */
export function withOwner(people: People, place: Place, {tenant, subject}: Person): People {
  return {...people, known: [...people.known.filter(each => each.place !== place), {place, tenant, subject}]}
}

/** `fresh` is where this person's database goes unless there is one. */
export function switchedTo(people: People, person: Person, fresh: Place): People {
  const place = people.known.find(each => isSamePerson(each, person))?.place ?? fresh
  return {...withOwner(people, place, person), current: place}
}

export function signedOut(people: People): People {
  return {...people, current: null}
}

export function wiping(people: People, place: Place): People {
  const known = people.known.filter(each => each.place !== place)
  const cut = people.cut.filter(each => each !== place)
  const current = people.current === place ? null : people.current
  return {current, known, cut, removing: [...new Set([...people.removing, place])]}
}

export function withOnline(people: People, place: Place, online: boolean): People {
  const others = people.cut.filter(each => each !== place)
  return {...people, cut: online ? others : [...others, place]}
}

/** The server has named this person before anything was opened. */
export function namedAtStart(people: People, person: Person, fresh: Place): People {
  const owner = people.current === null ? null : ownerOf(people, people.current)
  // A database that nobody is known for says itself whose it is, or becomes this person's.
  if (people.current !== null && (!owner || isSamePerson(owner, person))) return people
  return switchedTo(people, person, fresh)
}

export function removed(people: People, place: Place): People {
  return {...people, removing: people.removing.filter(each => each !== place)}
}

/** The same for the same person everywhere, and safe as a name of files whatever the subject is called. */
export async function placeFor({tenant, subject}: Person): Promise<Place> {
  const text = new TextEncoder().encode(JSON.stringify([tenant, subject]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return Array.from(digest.slice(0, 16), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** For databases that end with the process. */
export function memoryPeople(): PeopleIndex {
  let people = nobodyYet
  return {
    read: async () => people,
    change: async change => {
      people = change(people)
      return people
    },
    onChange: () => () => undefined,
  }
}
