import * as z from 'zod'
import {recoveryCauseSchema} from '../../protocol/recovery.ts'
import {readText, writeText} from './opfs-files.ts'

const layout = 'one-file'

/** A replaced generation whose files are kept for a limited time. */
const setAsideSchema = z.union([
  z.object({generation: z.string(), at: z.number()}),
  // Format of earlier builds.
  z.string().transform(generation => ({generation, at: 0})),
])

/**
 * State of the databases of a name, readable without opening one. Each generation has its own folder, so a damaged one is
 * set aside by creating another, never by copying or overwriting it. A lost marker can be rebuilt from the folders.
 */
const markerSchema = z.object({
  /** A database of another layout is set aside, not opened. */
  layout: z.literal(layout),
  generation: z.string(),
  /** False during the first open. Data in the folder was never acknowledged. */
  ready: z.boolean(),
  damaged: z.array(setAsideSchema),
  /** Damage reported while the database was open. The next open verifies or replaces the database. */
  suspect: z.object({sign: z.enum(['certain', 'suspected']), why: z.string()}).optional(),
  /** The generation whose data is still to be restored into this one. */
  salvage: z.object({generation: z.string(), cause: recoveryCauseSchema, detail: z.string()}).optional(),
})
export type Marker = Omit<z.infer<typeof markerSchema>, 'layout'>

const markerFile = 'generation.json'

/** Returns null if there is no marker that this build can read. */
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
