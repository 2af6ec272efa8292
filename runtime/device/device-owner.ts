import type {SubjectId, TenantId} from '../protocol/ids.ts'
import type {Person} from '../protocol/person.ts'
import type {DeviceStore} from '../storage/device-store.ts'

/** Whose database this is. The tenant is null in one of an earlier build until the server has named it. [ID-6] */
export type Owner = {tenant: TenantId | null; subject: SubjectId}

/** Remembered with the database, so that it is known offline and without a token. */
export interface DeviceOwner {
  /** Null while nobody has used this database. */
  get(): Owner | null
  /** Makes the database this person's unless it is somebody's already; false when it is somebody else's. */
  claim(person: Person): Promise<boolean>
}

/** `expected` is whom the index outside of the database names, for one that says nothing itself. */
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

/** An owner that is known beforehand and kept nowhere. */
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
