import {mkdtemp, readFile, rm} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import dataDirUrl from 'virtual:holdfast-data-dir'
import {asTarball} from '../prepared/as-tarball.ts'
import {type PostgresVersion, versionOf} from './check-files.ts'
import {startPGlite} from './start-pglite.ts'

/** Reads the prepared data directory, the initial content of a new database. */
export async function readDataDir(): Promise<Blob> {
  return asTarball(new Uint8Array(await readFile(fileURLToPath(dataDirUrl))))
}

/** Returns the versions that this build writes. Starts a Postgres to find them, so it is used only after a failed start. */
export async function preparedVersion(): Promise<PostgresVersion> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-version-'))
  try {
    const db = await startPGlite({dataDir: folder, loadDataDir: await readDataDir()})
    await db.close()
    return versionOf(folder)
  } finally {
    await rm(folder, {recursive: true, force: true})
  }
}
