import type {DueItem} from '../storage/due-work.ts'
import type {LedgerRow} from '../storage/store.ts'
import {type OperationContext, say} from './operation-context.ts'

/** Maximum number of claims in which application code throws. With back-off, about a minute. */
const mostFailures = 6
/**
 * Maximum number of reconciliations. At up to ten minutes each, about a day: an external system can be down for
 * hours.
 */
const mostQuestions = 150

/**
 * Ends an operation whose application code keeps failing, in a state that the model and the person see, so that no
 * run waits forever. Before the start it is refused: nothing has happened. An uncertain operation then waits for a
 * person's verdict. [OP-4]
 *
 * @returns whether no further attempt is made
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
