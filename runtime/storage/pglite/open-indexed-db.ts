import type {PGlite} from '@electric-sql/pglite'
import * as z from 'zod'
import {HoldfastError} from '../../protocol/errors.ts'
import {recoveryCauseSchema} from '../../protocol/recovery.ts'
import {sameBytes} from '../../protocol/same-bytes.ts'
import {type NotedOutbox, outboxInIndexedDb} from '../outbox/outbox-indexed-db.ts'
import type {DeviceDatabase, Previous} from './device-database.ts'
import {stopDatabase} from './fail-stop.ts'
import {readGeneration, writeGeneration} from './generation.ts'
import {indexedDbNames} from './indexed-db-names.ts'
import {type PresentOutbox, presentIndexedDb} from './indexed-db-presence.ts'
import {orClose, type Stopped} from './opened-database.ts'
import {startForSalvage, startPGlite} from './start-pglite.ts'

/** The database in use, and what the next open must do first. */
const noteSchema = z.object({
  number: z.int().positive(),
  suspect: z.string().optional(),
  /** The browser deleted it while it was open. */
  cleared: z.literal(true).optional(),
  salvage: z.object({number: z.int().positive(), cause: recoveryCauseSchema, detail: z.string()}).optional(),
})
type Note = z.infer<typeof noteSchema>

type Place = {
  name: string
  outbox: NotedOutbox
  prepared(): Promise<Blob>
  onStopped: Stopped | undefined
  /** Set while the database is open. */
  watched: PresentOutbox | null
}
type Opened = {db: PGlite; fresh: boolean; note: Note}

/**
 * Opens the database `name` in IndexedDB, for browsers whose OPFS has no synchronous handles. Durability is strict: about
 * 170 ms a write. A database that does not open or is damaged is kept, and a new one is created under another name.
 * `rescued` are outbox records from the memory of the previous owner. They are added to the outbox first. [LOG-9]
 */
export async function openIndexedDb(
  name: string,
  prepared: () => Promise<Blob>,
  onStopped?: Stopped,
  rescued: readonly Uint8Array[] = [],
): Promise<DeviceDatabase> {
  const outboxName = `holdfast-${name}-outbox`
  const reopen = () => outboxInIndexedDb(outboxName)
  const outbox = await reopen()
  const place: Place = {name, outbox, prepared, onStopped, watched: null}
  try {
    if (rescued.length > 0) await outbox.replace(joined((await outbox.load()).records, rescued))
    const {db, fresh, note} = await openDatabase(place)
    const watched = presentIndexedDb({
      outbox,
      names: [outboxName, `/pglite/${placeOf(name, note.number)}`],
      reopen,
      note: {number: note.number, cleared: true} satisfies Note,
      onGone: error => stopDatabase(db, error),
    })
    place.watched = watched
    const close = async () => {
      await db.close()
      await watched.close()
    }
    return {db, storage: 'indexeddb', fresh, outbox: watched, previous: previousOf(place, note), close}
  } catch (error) {
    await outbox.close()
    throw error
  }
}

/** Appends the rescued records to the stored ones, unless the stored ones are a prefix of them. */
function joined(stored: readonly Uint8Array[], rescued: readonly Uint8Array[]): Uint8Array[] {
  const isBeginning = stored.every((record, at) => sameBytes(record, rescued[at]))
  return isBeginning ? [...rescued] : [...stored, ...rescued]
}

async function openDatabase(place: Place): Promise<Opened> {
  const parsed = noteSchema.safeParse(await place.outbox.note())
  const numbers = await numbersOf(place.name)
  const last = numbers.at(-1) ?? 0
  const note = parsed.success ? parsed.data : {number: last}
  if (note.number === 0) return begin(place, 1, null)
  const giveUp = (cause: 'damaged' | 'emptied' | 'cleared', detail: string) =>
    begin(place, Math.max(last, note.number) + 1, {number: note.number, cause, detail})
  if (note.suspect) return giveUp('damaged', note.suspect)
  if (!numbers.includes(note.number)) {
    return giveUp(note.cleared ? 'cleared' : 'emptied', 'The database is not there.')
  }
  try {
    return {db: await openExisting(place, note), fresh: false, note}
  } catch (error) {
    if (!HoldfastError.is(error, 'database_damaged')) throw error
    return giveUp('damaged', error.message)
  }
}

async function openExisting(place: Place, note: Note): Promise<PGlite> {
  const dataDir = `idb://${placeOf(place.name, note.number)}`
  const db = await startPGlite({dataDir}, noting(place, note), {onDamage: 'stop_if_certain'}).catch(error => {
    throw new HoldfastError('database_damaged', `Postgres did not start on it: ${HoldfastError.from(error).message}`)
  })
  if (await orClose(db, () => readGeneration(db))) return db
  await db.close()
  throw new HoldfastError('database_damaged', 'It has no name: it lost its rows, or its first open was not finished.')
}

async function begin(place: Place, number: number, salvage: NonNullable<Note['salvage']> | null): Promise<Opened> {
  const note: Note = {number, ...(salvage && {salvage})}
  const dataDir = `idb://${placeOf(place.name, number)}`
  const options = {dataDir, loadDataDir: await place.prepared()}
  const db = await startPGlite(options, noting(place, note), {onDamage: 'stop_if_certain'})
  await orClose(db, async () => {
    await writeGeneration(db, crypto.randomUUID())
    await place.outbox.writeNote(note)
  })
  return {db, fresh: true, note}
}

/** Records damage before it calls `onStopped`. After a deletion it waits for the rescue, because `onStopped` ends this worker. */
function noting(place: Place, note: Note): Stopped {
  return error => {
    const noted = async () => {
      if (await place.watched?.lookAfterFailure()) return
      if (!HoldfastError.is(error, 'database_damaged')) return
      await place.outbox.writeNote({...note, suspect: String(error.details.why)})
    }
    void noted()
      .catch(() => undefined)
      .finally(() => place.onStopped?.(error, place.watched?.records()))
  }
}

function previousOf({name, outbox}: Place, {number, salvage}: Note): Previous | null {
  if (!salvage) return null
  return {
    ...salvage,
    setAside: placeOf(name, salvage.number),
    open: async () => {
      const db = await startForSalvage({dataDir: `idb://${placeOf(name, salvage.number)}`})
      // PGlite loaded all files into memory. Without sync the stored ones stay unmodified.
      db.syncToFs = async () => undefined
      return db
    },
    done: () => outbox.writeNote({number}),
  }
}

function placeOf(name: string, number: number): string {
  return number === 1 ? `holdfast-${name}` : `holdfast-${name}~${number}`
}

async function numbersOf(name: string): Promise<number[]> {
  const names = await indexedDbNames()
  const numbers: number[] = []
  for (let number = 1; number < 1000; number++) if (names.has(`/pglite/${placeOf(name, number)}`)) numbers.push(number)
  return numbers
}
