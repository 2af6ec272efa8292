import * as z from 'zod'
import {eventIdSchema} from './ids.ts'

/** Maximum entries of one page of a session's history. */
export const historyEntries = 200

/** Which entries of a session's history are read: at most `limit` before the entry `before`. */
export const historyRequestSchema = z.strictObject({
  before: eventIdSchema,
  limit: z.int().min(1).max(historyEntries, `expected at most ${historyEntries} entries`).optional(),
})
