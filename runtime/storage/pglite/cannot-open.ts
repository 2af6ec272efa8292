import {HoldfastError} from '../../protocol/errors.ts'

/**
 * Why a folder does not open.
 * - `unreadable`, `no_room`, `no_memory`: the system refuses access or resources. It says nothing about the data.
 * - `version`, `layout`: whole, but made by a build that this one cannot read.
 * - `newer`: whole, but made by a newer Postgres. It is never set aside: the newer build can open it.
 * - `gone`, `cut`, `damaged`, `other_database`, `marker`: proven damage.
 */
export type OpenFault =
  | 'unreadable'
  | 'no_room'
  | 'no_memory'
  | 'version'
  | 'layout'
  | 'newer'
  | 'gone'
  | 'cut'
  | 'damaged'
  | 'other_database'
  | 'marker'

const codes = {
  unreadable: 'unavailable',
  no_room: 'storage_full',
  no_memory: 'unavailable',
  version: 'misconfigured',
  layout: 'misconfigured',
  newer: 'version_mismatch',
  gone: 'database_damaged',
  cut: 'database_damaged',
  damaged: 'database_damaged',
  other_database: 'database_damaged',
  marker: 'database_damaged',
} as const satisfies Record<OpenFault, string>

/** Creates the error for a folder that does not open. `reason` is a sentence without its full stop. */
export function cannotOpen(folder: string, fault: OpenFault, reason: string, cause?: unknown): HoldfastError {
  const message = `The database in ${folder} cannot be opened: ${reason}. Nothing was changed. ${waysOn(fault)}`
  return new HoldfastError(codes[fault], message, {
    details: {folder, fault, reason},
    cause,
  })
}

/** True if the policy `begin_anew` may replace this database with a new one. */
export function mayBeginAnew(error: unknown): error is HoldfastError {
  if (!HoldfastError.is(error, 'database_damaged', 'misconfigured')) return false
  return typeof error.details.fault === 'string'
}

/** Rewords the error for a device, where `begin_anew` was already tried. */
export function ofDevice(error: unknown): unknown {
  if (!mayBeginAnew(error)) return error
  const {folder, reason} = error.details
  const message = `The database in ${folder} cannot be opened, and no new one can take its place: ${reason}. Restore the folder from a backup, or remove what is in the way.`
  return new HoldfastError(error.code, message, {details: error.details, cause: error})
}

function waysOn(fault: OpenFault): string {
  switch (fault) {
    case 'unreadable':
      return 'Give this process access to the file, or restore the folder from a backup.'
    case 'no_room':
      return 'Make room on the disk.'
    case 'no_memory':
      return 'Give this process more memory.'
    case 'newer':
      return 'Start the newer build that wrote it.'
    case 'version':
    case 'layout':
      return "Start the build that wrote it, restore a backup of this build, or begin anew with `onDamage: 'begin_anew'`."
    default:
      return "Restore the folder from a backup, or begin anew with `onDamage: 'begin_anew'`."
  }
}

/** System error codes that mean that access to a file failed. They are no evidence of damage. */
const systemCodes = new Set(
  'EACCES EPERM EIO EMFILE ENFILE EROFS ELOOP EBUSY EAGAIN ESTALE ETIMEDOUT ENXIO ENODEV ENOMEM EISDIR ENOTDIR ENAMETOOLONG'.split(
    ' ',
  ),
)

export function systemCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return systemCodes.has(error.code) ? error.code : undefined
}
