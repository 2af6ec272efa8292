import * as z from 'zod'
import {recoveryCauseSchema} from '../../protocol/recovery.ts'
import {readText, writeText} from './opfs-files.ts'

const layout = 'one-file'

/** A generation whose files are kept for a while after another has taken its place. */
const setAsideSchema = z.union([
  z.object({generation: z.string(), at: z.number()}),
  // As earlier builds wrote it.
  z.string().transform(generation => ({generation, at: 0})),
])

/**
 * What is known about a name's databases without opening one. Each generation has a folder of its own, so a
 * damaged one is set aside by beginning another, never by copying or overwriting it. The marker can be rebuilt from
 * the folders: it says nothing that they do not say.
 */
const markerSchema = z.object({
  /** One of another layout is not opened but set aside. */
  layout: z.literal(layout),
  generation: z.string(),
  /** False while the first open is still filling the folder: nothing in it was ever acknowledged. */
  ready: z.boolean(),
  damaged: z.array(setAsideSchema),
  /** A sign of damage that was met while the database was open: it is looked at before it is used again. */
  suspect: z.object({sign: z.enum(['certain', 'suspected']), why: z.string()}).optional(),
  /** The generation whose rows are still to be read into this one. */
  salvage: z.object({generation: z.string(), cause: recoveryCauseSchema, detail: z.string()}).optional(),
})
export type Marker = Omit<z.infer<typeof markerSchema>, 'layout'>

const markerFile = 'generation.json'

/** Null when there is none that this build can read. */
export async function readMarker(folder: FileSystemDirectoryHandle): Promise<Marker | null> {
  const parsed = markerSchema.safeParse(json(await readText(folder, markerFile)))
  return parsed.success ? parsed.data : null
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
