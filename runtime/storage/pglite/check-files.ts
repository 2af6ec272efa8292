import {accessSync, closeSync, constants, openSync, readdirSync, readFileSync, readSync, statSync} from 'node:fs'
import {statfs} from 'node:fs/promises'
import {join} from 'node:path'
import {cannotOpen, systemCodeOf} from './cannot-open.ts'

const controlFile = join('global', 'pg_control')
const controlBytes = 8192
const walSegment = /^[0-9A-F]{24}$/
const walPage = 8192
/** Free space in bytes that a start requires: recovery may write one segment of the write-ahead log (16 MiB) and more. */
const roomToStart = 24 * 1024 ** 2

type Place = {folder: string; database: string}

/**
 * Checks the files before Postgres starts, because PGlite reports all failed starts alike. Costs one system call a file.
 *
 * @throws HoldfastError from `cannotOpen`: `unreadable` if the system refuses access, `gone` or `cut` for proven damage
 */
export function checkFiles({folder, database}: Place): void {
  const names = guarded(folder, database, () => listFiles(database))
  if (!names.includes('PG_VERSION')) throw cannotOpen(folder, 'gone', 'its files are gone from the folder "postgres"')
  for (const name of names) {
    guarded(folder, name, () => accessSync(join(database, name), constants.R_OK | constants.W_OK))
  }
  if (!names.includes(controlFile)) throw cannotOpen(folder, 'gone', `the file ${controlFile} is missing`)
  const bytes = sizeOf(join(database, controlFile))
  if (bytes !== controlBytes) {
    throw cannotOpen(folder, 'cut', `the file ${controlFile} has ${bytes} bytes instead of ${controlBytes}`)
  }
  checkLog(folder, database, names)
}

function checkLog(folder: string, database: string, names: string[]): void {
  const inLog = `pg_wal${join('/')}`
  const segments = names.filter(name => name.startsWith(inLog) && walSegment.test(name.slice(inLog.length)))
  if (segments.length === 0) throw cannotOpen(folder, 'gone', 'its write-ahead log (pg_wal) is missing')
  for (const name of segments) {
    const bytes = sizeOf(join(database, name))
    if (bytes === 0 || bytes % walPage !== 0)
      throw cannotOpen(folder, 'cut', `the file ${name} was cut to ${bytes} bytes`)
  }
}

/** Reads every byte of every file. A failing disk reports errors only on reads. */
export function readEveryFile({folder, database}: Place): void {
  const buffer = Buffer.alloc(1024 ** 2)
  for (const name of guarded(folder, database, () => listFiles(database))) {
    guarded(folder, name, () => {
      const file = openSync(join(database, name), 'r')
      try {
        while (readSync(file, buffer, 0, buffer.length, null) > 0);
      } finally {
        closeSync(file)
      }
    })
  }
}

export async function requireRoom(folder: string): Promise<void> {
  const {bavail, bsize} = await statfs(folder)
  if (bavail * bsize >= roomToStart) return
  const needed = `Postgres needs ${roomToStart / 1024 ** 2} MiB of free space to start`
  throw cannotOpen(folder, 'no_room', `${needed}, and the disk has ${Math.floor((bavail * bsize) / 1024)} KiB`)
}

/** The versions that Postgres checks at start: its major version, and the versions of the control file and the catalog. */
export type PostgresVersion = {major: string; control: number; catalog: number}

export function versionOf(database: string): PostgresVersion {
  const major = readFileSync(join(database, 'PG_VERSION'), 'utf8').trim()
  return {major, ...versionIn(readFileSync(join(database, controlFile)))}
}

/** https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_control.h: after a system identifier of 8 bytes. */
function versionIn(control: Buffer): Omit<PostgresVersion, 'major'> {
  return {control: control.readUInt32LE(8), catalog: control.readUInt32LE(12)}
}

function listFiles(folder: string, under = ''): string[] {
  return readdirSync(join(folder, under), {withFileTypes: true}).flatMap(entry => {
    const name = join(under, entry.name)
    return entry.isDirectory() ? listFiles(folder, name) : [name]
  })
}

function sizeOf(path: string): number {
  return statSync(path).size
}

function guarded<T>(folder: string, name: string, look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw unreadable(folder, name, error) ?? error
  }
}

/** Translates an access error into one of `cannotOpen`. Returns undefined for any other error. */
export function unreadable(folder: string, name: string, error: unknown) {
  if (isMissing(error)) return cannotOpen(folder, 'gone', `${name} is missing`, error)
  const code = systemCodeOf(error)
  return (
    code &&
    cannotOpen(folder, 'unreadable', `the system does not let this process read and write ${name} (${code})`, error)
  )
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
