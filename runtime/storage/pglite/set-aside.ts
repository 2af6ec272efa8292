import {mkdir, readdir, rename} from 'node:fs/promises'
import {join} from 'node:path'
import {markerFile} from './node-marker.ts'

/** Where Postgres' own files are in the folder of a database. */
export const databaseFolder = 'postgres'

/** Moves files and marker out of the way, whole, under the first number that is free. */
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

/** Empty for a folder that is not there; every other failure is thrown. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
