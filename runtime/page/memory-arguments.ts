import * as z from 'zod'
import {memoryIdSchema} from '../protocol/ids.ts'
import {longestUndoMs, memoryChangeSchema} from '../protocol/memory.ts'

/**
 * What callers pass to `memory`. Unknown fields of options are refused: with a misspelt `undoMs`, an item would be
 * forgotten without time to undo.
 */
export const forgetOptions = z
  .strictObject({
    undoMs: z.number().min(0).max(longestUndoMs, `expected at most ${longestUndoMs} milliseconds`).optional(),
  })
  .default({})

const {revision, text} = memoryChangeSchema.options[1].shape

/** The item that was shown, usually a whole record. */
export const shownMemory = z.object({id: memoryIdSchema, revision})
export const correctedText = text
