import * as z from 'zod'
import {listNames, readText, writeText} from './opfs-files.ts'

const layout = 'one-file'

/**
 * What is known about a name's databases without opening one. Each generation has a folder of its own, so a
 * damaged one is set aside by beginning another, never by copying or overwriting it.
 */
const markerSchema = z.object({
  /** One of another layout is not opened but set aside. */
  layout: z.literal(layout),
  generation: z.string(),
  /** False while the first open is still filling the folder: nothing in it was ever acknowledged. */
  ready: z.boolean(),
  damaged: z.array(z.string()),
})
export type Marker = Omit<z.infer<typeof markerSchema>, 'layout'>

const markerFile = 'generation.json'

export type Found =
  | {state: 'nothing'}
  | {state: 'unfinished' | 'ready'; marker: Marker}
  | {state: 'unknown'; folders: string[]}

export async function readMarker(folder: FileSystemDirectoryHandle): Promise<Found> {
  const parsed = markerSchema.safeParse(json(await readText(folder, markerFile)))
  if (parsed.success) return {state: parsed.data.ready ? 'ready' : 'unfinished', marker: parsed.data}
  const folders = await listNames(folder, 'directory')
  return folders.length === 0 ? {state: 'nothing'} : {state: 'unknown', folders}
}

export function writeMarker(folder: FileSystemDirectoryHandle, marker: Marker): Promise<void> {
  return writeText(folder, markerFile, JSON.stringify({layout, ...marker}))
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}
