import * as z from 'zod'
import {subjectIdSchema, tenantIdSchema} from '../protocol/ids.ts'
import {isSamePerson, type Person} from '../protocol/person.ts'

/** Suffix of one person's database under the application's name or folder. '' is the first database created there. */
export type Place = string
export const firstPlace: Place = ''

/**
 * Index of databases and their owners. It is stored outside the databases, so that the right one can be chosen offline,
 * before any is opened. [ID-6]
 */
export const peopleSchema = z.object({
  /** The database to open. Null after a sign-out: no database is open and no person's data is shown. */
  current: z.string().nullable(),
  known: z.array(z.object({place: z.string(), tenant: tenantIdSchema, subject: subjectIdSchema})),
  /** Databases to delete before they are used again. */
  removing: z.array(z.string()),
  /**
   * Databases whose user has switched the connection off: no request is made for them, not even for the person's
   * identity.
   */
  cut: z.array(z.string()).default([]),
})
export type People = z.infer<typeof peopleSchema>

export const nobodyYet: People = {current: firstPlace, known: [], removing: [], cut: []}

/**
 * Guarantee: `change` is one atomic update of the stored index, also across tabs, and is on disk when its promise
 * resolves.
 */
export interface PeopleIndex {
  read(): Promise<People>
  change(change: (people: People) => People): Promise<People>
  /** Calls `listener` after a change by another tab. */
  onChange(listener: () => void): () => void
}

export function ownerOf({known}: People, place: Place): Person | null {
  const found = known.find(each => each.place === place)
  return found ? {tenant: found.tenant, subject: found.subject} : null
}

/** Records the owner of the database at `place`. */
export function withOwner(people: People, place: Place, {tenant, subject}: Person): People {
  return {...people, known: [...people.known.filter(each => each.place !== place), {place, tenant, subject}]}
}

/** Makes this person current. `fresh`: the place of their database if they have none yet. */
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

/** Applies the person that the server named before any database was opened. */
export function namedAtStart(people: People, person: Person, fresh: Place): People {
  const owner = people.current === null ? null : ownerOf(people, people.current)
  // A database without a known owner is opened and states its owner itself, or becomes this person's.
  if (people.current !== null && (!owner || isSamePerson(owner, person))) return people
  return switchedTo(people, person, fresh)
}

export function removed(people: People, place: Place): People {
  return {...people, removing: people.removing.filter(each => each !== place)}
}

/** Returns the place of a person's database: always the same for one person, and a safe file name for any subject. */
export async function placeFor({tenant, subject}: Person): Promise<Place> {
  const text = new TextEncoder().encode(JSON.stringify([tenant, subject]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return Array.from(digest.slice(0, 16), byte => byte.toString(16).padStart(2, '0')).join('')
}

/** Index for databases that are kept in memory only. */
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
