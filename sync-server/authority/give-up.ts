import type {DueItem} from '../storage/due-work.ts'
import type {LedgerRow} from '../storage/store.ts'
import {type OperationContext, say} from './operation-context.ts'

/** A claim in which the application's code threw is tried again with a longer pause each time, for about a minute. */
const mostFailures = 6
/** At up to ten minutes each, for about a day: an outside system may well be away for hours. */
const mostQuestions = 150

/**
 * Ends what the application's own code keeps failing at, in a state that model and person see, so that no run waits for
 * ever. Nothing is known to have happened before the start; after it, only a person's verdict is left. [OP-4]
 *
 * @returns whether there is nothing left to try
 */
export async function giveUp(context: OperationContext, item: DueItem, row: LedgerRow | null): Promise<boolean> {
  if (!row) return false
  const {operation, status} = row
  if (status === 'uncertain') return item.attempts >= mostQuestions
  if ((status !== 'proposed' && status !== 'authorised') || item.attempts < mostFailures) return false
  const what = status === 'proposed' ? 'authorise' : 're-check'
  const reason = `The server could not ${what} this: its check failed ${item.attempts} times. Nothing was done.`
  await say(context, row, {kind: 'operation.refused', data: {operation, code: 'not_authorised', reason}})
  return true
}
