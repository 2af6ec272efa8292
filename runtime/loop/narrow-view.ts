import {afterRefusal} from '../protocol/calibration.ts'
import type {ContextOverflow} from '../protocol/context-overflow.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import type {SessionState} from '../protocol/session.ts'
import {buildView, type PreparedView, type ViewAgent} from './prepare-view.ts'

/** Consecutive refused views after which the run fails. */
const mostRefusals = 6

/**
 * Creates the event data after a provider refused a view as too long, with the limit of the next view. [VIEW-4]
 *
 * @throws HoldfastError `model_failed`, not retryable, when the view cannot be made smaller
 */
export function refusedView(
  {calibration}: Pick<SessionState, 'calibration'>,
  agent: ViewAgent,
  view: PreparedView,
  said: ContextOverflow,
): DataOf<'view.refused'> {
  const tokens = view.estimatedTokens
  const least = buildView(agent, []).estimatedTokens
  const viewTokens = calibration.refusals >= mostRefusals ? null : afterRefusal({tokens, least}, said)
  if (viewTokens === null) throw noRoom(tokens, least, said)
  return {tokens, ...said, viewTokens}
}

function noRoom(tokens: number, least: number, {limit}: ContextOverflow): HoldfastError {
  const takes = limit === null ? '' : ` Its limit is ${limit} tokens.`
  return new HoldfastError(
    'model_failed',
    `The model's provider refuses even the shortest view of this conversation as too long.${takes} ` +
      `Instructions and tools alone have about ${least} tokens, the view about ${tokens}. ` +
      'Use a model with a larger limit, or shorten the instructions, the tools or the last message.',
    {details: {retryable: false}},
  )
}
