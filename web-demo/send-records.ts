import * as z from 'zod'

/**
 * The ids under which a text is sent, kept until it is known what became of it. `key` is the conversation that the text
 * was typed for, or "new"; `at` is when the ids were made, in milliseconds.
 */
export const sendRecordSchema = z.object({
  key: z.string(),
  text: z.string(),
  message: z.string(),
  session: z.string(),
  at: z.number(),
})
export type SendRecord = z.infer<typeof sendRecordSchema>

/** Most texts of one person whose outcome may be unknown at once. */
export const mostSendRecords = 20

/** Milliseconds. After a day the same words are more likely a new message than a retry. */
export const sendRecordMs = 24 * 60 * 60_000

/** Splits the records of one person into those that still count, newest first, and those to delete. */
export function sortedOut(records: readonly SendRecord[], now: number): {kept: SendRecord[]; dropped: SendRecord[]} {
  const newestFirst = [...records].sort((a, b) => b.at - a.at)
  const recent = newestFirst.filter(({at}) => now - at < sendRecordMs)
  const kept = recent.slice(0, mostSendRecords)
  return {kept, dropped: newestFirst.filter(record => !kept.includes(record))}
}

/**
 * The record of a text. A text is found by its words and not by its tab, because a tab can show the unsent text of
 * another: both then send one message. The oldest record wins, so that all tabs choose the same one.
 */
export function recordFor(records: readonly SendRecord[], key: string, text: string): SendRecord | undefined {
  return records.filter(record => record.key === key && record.text === text).sort((a, b) => a.at - b.at)[0]
}
