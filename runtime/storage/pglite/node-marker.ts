import {mkdir, open, readFile, rename, rm} from 'node:fs/promises'
import {join} from 'node:path'

/**
 * The marker names the database that a folder holds. It is written after the database is complete, by a rename, so
 * that a crash leaves either no marker or a complete one.
 */
export const markerFile = 'generation'
/** Exists while the first database is being filled. Data in such a folder was never acknowledged. */
const unfinishedFile = 'generation.unfinished'

export type FoundMarker =
  | {state: 'none'}
  | {state: 'unfinished'}
  | {state: 'ready'; generation: string}
  /** Written by a build with another folder layout. */
  | {state: 'other_layout'; layout: string}
  | {state: 'garbled'; bytes: number}

const generationPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\s*$/

/** @throws the system error if the marker exists and cannot be read */
export async function readMarker(folder: string): Promise<FoundMarker> {
  const bytes = await readIfThere(join(folder, markerFile))
  if (bytes === undefined) {
    const unfinished = await readIfThere(join(folder, unfinishedFile))
    return {state: unfinished === undefined ? 'none' : 'unfinished'}
  }
  const text = bytes.toString()
  if (generationPattern.test(text)) return {state: 'ready', generation: text.trim()}
  const layout = layoutIn(text)
  return layout === undefined ? {state: 'garbled', bytes: bytes.length} : {state: 'other_layout', layout}
}

export async function markUnfinished(folder: string): Promise<void> {
  await mkdir(folder, {recursive: true})
  await writeWhole(join(folder, unfinishedFile), '')
}

export async function markReady(folder: string, generation: string): Promise<void> {
  await writeWhole(join(folder, markerFile), generation)
  await rm(join(folder, unfinishedFile), {force: true})
}

/** Returns undefined only if the file does not exist. Other errors are thrown: they do not prove that it is missing. */
async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.draft`
  const file = await open(draft, 'w')
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, path)
}

function layoutIn(text: string): string | undefined {
  try {
    const {layout} = JSON.parse(text) as {layout?: unknown}
    return typeof layout === 'string' ? layout : undefined
  } catch {
    return undefined
  }
}
