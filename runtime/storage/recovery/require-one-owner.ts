import {HoldfastError} from '../../protocol/errors.ts'
import type {DeviceDatabase} from '../pglite/device-database.ts'

type Owner = {tenant: string | null; subject: string}

/** The parts of a device's storage that name an owner, each null if it names none. */
export type OwnerRecords = {
  /** The index of databases and their owners, which is stored outside of them. */
  index: Owner | null
  database: Owner | null
  outbox: Owner | null
  /** The database that was set aside as damaged. */
  previous: Owner | null
}

/**
 * Refuses storage whose parts belong to different persons, before anything is put back, shown or sent. [ID-6]
 *
 * @throws HoldfastError `other_person` naming the two parts, never the persons
 */
export function requireOneOwner({db, storage}: Pick<DeviceDatabase, 'db' | 'storage'>, records: OwnerRecords): void {
  const named = parts.flatMap(part => (records[part] ? [{part, owner: records[part]}] : []))
  for (const [i, first] of named.entries()) {
    const second = named.slice(i + 1).find(({owner}) => !mayBeSame(first.owner, owner))
    if (!second) continue
    const place = storage === 'folder' && db.dataDir ? ` in ${db.dataDir}` : ''
    throw new HoldfastError(
      'other_person',
      `The database${place} is not opened: ${names[first.part]} and ${names[second.part]} name different persons. No entry was changed. Restore all files of this device from the same backup.`,
      {details: {parts: [first.part, second.part]}},
    )
  }
}

const parts = ['index', 'database', 'outbox', 'previous'] as const

const names: Record<(typeof parts)[number], string> = {
  index: 'the index of persons on this device (on Node the file people.json)',
  database: 'the database',
  outbox: 'the copy of unsent entries beside it (on Node the files outbox.0 and outbox.1)',
  previous: 'the damaged database that was set aside',
}

/** A database of an earlier build knows no tenant. */
function mayBeSame(a: Owner, b: Owner): boolean {
  return a.subject === b.subject && (a.tenant === null || b.tenant === null || a.tenant === b.tenant)
}
