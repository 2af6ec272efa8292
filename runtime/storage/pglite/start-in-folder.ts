import type {PGlite} from '@electric-sql/pglite'
import {HoldfastError} from '../../protocol/errors.ts'
import {cannotOpen} from './cannot-open.ts'
import {checkFiles, type PostgresVersion, readEveryFile, requireRoom, versionOf} from './check-files.ts'
import {readGeneration} from './generation.ts'
import type {Fence} from './lock-fence.ts'
import type {Stopped} from './opened-database.ts'
import {type DamageOptions, startPGlite} from './start-pglite.ts'

export type DatabasePlace = DamageOptions & {
  folder: string
  /** The subfolder that holds the files of Postgres. */
  database: string
  /** Returns the versions that this build writes. */
  expected(): Promise<PostgresVersion>
  onStopped?: Stopped | undefined
  /** The fence of the folder's lock. */
  fence: Fence
}

/**
 * Starts Postgres on existing files. Checks them first, because PGlite creates a new database in an empty folder. A failed
 * start counts as damage only if all other causes are ruled out: the files are readable, there is disk space and memory,
 * the version is that of this build, and a second try fails too.
 */
export async function startInFolder(place: DatabasePlace): Promise<{db: PGlite; generation: string | undefined}> {
  checkFiles(place)
  try {
    return await startNamed(place)
  } catch (first) {
    await ruleOut(place, first)
    return await startNamed(place).catch(async second => {
      await ruleOut(place, second)
      throw cannotOpen(
        place.folder,
        'damaged',
        'Postgres does not start on its files, although each can be read',
        second,
      )
    })
  }
}

async function startNamed({database, onStopped, fence, onDamage}: DatabasePlace) {
  let ready = false
  const db = await startPGlite({dataDir: database}, error => ready && onStopped?.(error), {fence, onDamage})
  try {
    const generation = await readGeneration(db)
    ready = true
    return {db, generation}
  } catch (error) {
    await db.close().catch(() => undefined)
    throw error
  }
}

/** Throws the cause if it is any other than damage. */
async function ruleOut(place: DatabasePlace, error: unknown): Promise<void> {
  const {folder, database} = place
  checkFiles(place)
  readEveryFile(place)
  await requireRoom(folder)
  if (HoldfastError.is(error, 'storage_full')) throw cannotOpen(folder, 'no_room', 'the disk has no room left', error)
  if (isOutOfMemory(error)) throw cannotOpen(folder, 'no_memory', 'Postgres got no memory to start with', error)
  if (!isOfPostgres(error)) throw HoldfastError.from(error)
  const [found, expected] = [versionOf(database), await place.expected()]
  if (!isPlausible(found)) throw cannotOpen(folder, 'damaged', 'its file global/pg_control is garbled', error)
  if (found.major !== expected.major || found.control !== expected.control || found.catalog !== expected.catalog) {
    const [theirs, ours] = [found, expected].map(({major, catalog}) => `Postgres ${major} (catalogue ${catalog})`)
    // Not by PG_VERSION: one flipped bit makes that a newer one, too.
    const fault = found.catalog > expected.catalog && found.control >= expected.control ? 'newer' : 'version'
    throw cannotOpen(folder, fault, `it was made by ${theirs}, and this build has ${ours}`, error)
  }
}

/** The layout of the control file is numbered like 1800, that of the catalogue like 202506291: a date and a digit. */
function isPlausible({control, catalog}: PostgresVersion): boolean {
  return control > 0 && control < 100_000 && catalog > 190_000_000 && catalog < 299_999_999
}

function isOutOfMemory(error: unknown): boolean {
  return (
    error instanceof RangeError ||
    (error instanceof Error && /\bOOM\b|out of memory|allocate memory/i.test(error.message))
  )
}

/** An abort, trap or exit of Postgres, or an error with an SQLSTATE; everything else came from outside of it. */
function isOfPostgres(error: unknown): boolean {
  if (HoldfastError.is(error)) return error.code === 'peer_gone'
  if (!(error instanceof Error)) return typeof error === 'object' && error !== null && 'status' in error
  if (error.name === 'RuntimeError' || error.name === 'ExitStatus') return true
  if (error.message === 'PGlite failed to initialize properly') return true
  return 'severity' in error && 'code' in error
}
