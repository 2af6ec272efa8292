import * as z from 'zod'
import {sessionIdSchema} from './ids.ts'

/** Where a device keeps its database. `memory` is lost when the page or process ends. [SYNC-5] */
export const storageKindSchema = z.enum(['opfs', 'indexeddb', 'memory', 'folder'])
export type StorageKind = z.infer<typeof storageKindSchema>

/**
 * Why a database could not be opened in its last state.
 *
 * - `damaged`: parts of its files could not be read.
 * - `behind`: it opened, but acknowledged events were missing: its write-ahead log was cut, or an older copy was
 * restored.
 * - `emptied`: its files were missing.
 * - `cleared`: the browser's site data was deleted while the database was open.
 * - `old_layout`: an earlier build wrote it in another file layout.
 */
export const recoveryCauseSchema = z.enum(['damaged', 'behind', 'emptied', 'cleared', 'old_layout'])
export type RecoveryCause = z.infer<typeof recoveryCauseSchema>

const count = z.int().min(0)

const recoveredSessionSchema = z.object({
  session: sessionIdSchema,
  /** Null if the title could not be read. */
  title: z.string().nullable(),
  /** Unsent events that were restored. */
  restored: count,
  /** Confirmed events that are missing here and will be fetched from the server. */
  refilling: count,
  /** Events that were lost; null if their number is unknown. */
  lost: count.nullable(),
})
export type RecoveredSession = z.infer<typeof recoveredSessionSchema>

/**
 * Report of the recovery of a database that could not be opened in its last state. It is stored with the database until
 * the person dismisses it. [LOG-9]
 */
export const recoverySchema = z.object({
  id: z.uuid(),
  cause: recoveryCauseSchema,
  /** When the recovery happened, milliseconds since 1970. */
  at: z.int(),
  /** Totals over all sessions; `sessions` has the counts of each. */
  restored: count,
  refilling: count,
  /** Null if the number is unknown. */
  lost: count.nullable(),
  sessions: z.array(recoveredSessionSchema),
  /** Tables of the application that are now empty; their rows cannot be restored. */
  emptyTables: z.array(z.string()),
  /** Name under which the old files are kept for a while; null if no files were kept. */
  setAside: z.string().nullable(),
  /** Technical description, shown on request. */
  detail: z.string(),
})
export type Recovery = z.infer<typeof recoverySchema>

/** State of the device's storage, for display. */
export type StorageState = {
  kind: StorageKind
  /** Result of `navigator.storage.persist()`; null before it was called and where it does not exist. */
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

/** Returns the sentences to show to the person: what happened, what was restored, and what was not. */
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
