import {mkdir, readdir, rename} from 'node:fs/promises'
import {join} from 'node:path'
import {markerFile} from './node-marker.ts'

/** Subfolder of a database folder that holds the files of Postgres. */
export const databaseFolder = 'postgres'

/** Renames the database and its marker with the first free number. Returns the new path. */
export async function moveAside(folder: string): Promise<string> {
  const taken = new Set(await namesIn(folder))
  const asideNames = (number: number) =>
    [databaseFolder, markerFile].map(name => [name, `${name}.damaged-${number}`] as const)
  let number = 1
  while (asideNames(number).some(([, aside]) => taken.has(aside))) number++
  await mkdir(join(folder, databaseFolder), {recursive: true})
  for (const [name, aside] of asideNames(number)) {
    if (name !== markerFile || taken.has(name)) await rename(join(folder, name), join(folder, aside))
  }
  return join(folder, `${databaseFolder}.damaged-${number}`)
}

/** Lists a folder. Returns an empty list if it does not exist. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
