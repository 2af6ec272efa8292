import type {SubjectId, TenantId} from '../protocol/ids.ts'
import type {Person} from '../protocol/person.ts'
import type {DeviceStore} from '../storage/device-store.ts'

/** The owner of a database. An earlier build recorded no tenant; it is null until the server names it. [ID-6] */
export type Owner = {tenant: TenantId | null; subject: SubjectId}

/** The owner that is stored with the database, so that it is known offline and without a token. */
export interface DeviceOwner {
  /** Null until a person has used this database. */
  get(): Owner | null
  /** Makes this person the owner if there is none. Returns false when another person is the owner. */
  claim(person: Person): Promise<boolean>
}

/** `expected`: the owner in the index of databases, used when the database records none. */
export async function storedOwner(
  store: Pick<DeviceStore, 'owner' | 'setOwner'>,
  expected: Person | null = null,
): Promise<DeviceOwner> {
  let owner = await store.owner()
  if (!owner && expected) {
    await store.setOwner(expected)
    owner = expected
  }
  return {
    get: () => owner,
    async claim(person) {
      if (owner?.tenant && owner.tenant === person.tenant && owner.subject === person.subject) return true
      if (owner && !mayBe(owner, person)) return false
      await store.setOwner(person)
      owner = person
      return true
    },
  }
}

/** An owner that is known in advance and not stored. */
export function fixedOwner(subject: string): DeviceOwner {
  let owner: Owner = {tenant: null, subject: subject as SubjectId}
  return {
    get: () => owner,
    async claim(person) {
      if (!mayBe(owner, person)) return false
      owner = person
      return true
    },
  }
}

export function mayBe(owner: {tenant: string | null; subject: string}, person: Person): boolean {
  return owner.subject === person.subject && (owner.tenant === null || owner.tenant === person.tenant)
}
