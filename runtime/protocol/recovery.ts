import * as z from 'zod'
import {sessionIdSchema} from './ids.ts'

/** Where a device keeps its database. `memory` ends with the page or process: nothing in it is durable. [SYNC-5] */
export const storageKindSchema = z.enum(['opfs', 'indexeddb', 'memory', 'folder'])
export type StorageKind = z.infer<typeof storageKindSchema>

/**
 * Why a database was not opened as it was left.
 *
 * - `damaged`: parts of its files could not be read.
 * - `behind`: it opened, and lacked events that had been acknowledged: its write-ahead log was cut, or an older copy was put back.
 * - `emptied`: its files were gone.
 * - `cleared`: the browser's data of this site was deleted while the database was open.
 * - `old_layout`: it was written by a build that laid its files out in another way.
 */
export const recoveryCauseSchema = z.enum(['damaged', 'behind', 'emptied', 'cleared', 'old_layout'])
export type RecoveryCause = z.infer<typeof recoveryCauseSchema>

const count = z.int().min(0)

const recoveredSessionSchema = z.object({
  session: sessionIdSchema,
  /** Null when it could not be read. */
  title: z.string().nullable(),
  /** Unsent events that were put back. */
  restored: count,
  /** Confirmed events that are missing here; the next contact with the server brings them. */
  refilling: count,
  /** Events that are known to be lost; null when their number is unknown. */
  lost: count.nullable(),
})
export type RecoveredSession = z.infer<typeof recoveredSessionSchema>

/**
 * What became of a database that could not be opened as it was left. It is kept with the database until the person
 * dismisses it. [LOG-9]
 */
export const recoverySchema = z.object({
  id: z.uuid(),
  cause: recoveryCauseSchema,
  /** When it was found, milliseconds since 1970. */
  at: z.int(),
  /** Unsent events that were put back, by session and in all. */
  restored: count,
  refilling: count,
  /** Null when the number is unknown. */
  lost: count.nullable(),
  sessions: z.array(recoveredSessionSchema),
  /** The application's own tables that started empty; their rows cannot be restored. */
  emptyTables: z.array(z.string()),
  /** The name under which the old files are kept for a while; null when there is nothing to keep. */
  setAside: z.string().nullable(),
  /** What was found, in technical words, for whoever opens the details. */
  detail: z.string(),
})
export type Recovery = z.infer<typeof recoverySchema>

/** The storage of a device as a page shows it. */
export type StorageState = {
  kind: StorageKind
  /** The answer of `navigator.storage.persist()`; null before it was asked and where it does not exist. */
  persisted: boolean | null
  recovery: Recovery | null
}

const causes: Record<RecoveryCause, string> = {
  damaged: 'Stored data on this device was damaged.',
  behind: 'Stored data on this device was older than what had been saved.',
  emptied: 'Stored data on this device was missing.',
  cleared: 'The browser deleted the data of this site while it was open.',
  old_layout: 'Stored data on this device was written by an older version.',
}

/** What a person is told: what happened, what came back, and what did not. */
export function recoverySentences({cause, restored, refilling, lost, emptyTables}: Recovery): string[] {
  const sentences = [causes[cause]]
  if (restored > 0) sentences.push(`${entries(restored)} that had not reached the server ${were(restored)} restored.`)
  if (refilling > 0) sentences.push(`${entries(refilling)} will be fetched from the server again.`)
  if (lost === null) sentences.push('Some entries that had not reached the server may be lost.')
  else if (lost > 0) sentences.push(`${entries(lost)} could not be restored.`)
  else sentences.push('No entry was lost.')
  if (emptyTables.length > 0) sentences.push('Data that the agent kept in tables of its own could not be restored.')
  return sentences
}

function entries(number: number): string {
  return number === 1 ? '1 entry' : `${number} entries`
}

function were(number: number): string {
  return number === 1 ? 'was' : 'were'
}
