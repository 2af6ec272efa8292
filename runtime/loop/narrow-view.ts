import {afterRefusal} from '../protocol/calibration.ts'
import type {ContextOverflow} from '../protocol/context-overflow.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {DataOf} from '../protocol/event.ts'
import type {SessionState} from '../protocol/session.ts'
import {buildView, type PreparedView, type ViewAgent} from './prepare-view.ts'

/** Refused views in a row after which the run fails. */
const mostRefusals = 6

/**
 * What is recorded when a provider refuses a view as too long: how much the next one may hold. [VIEW-4]
 *
 * @throws HoldfastError `model_failed`, final, when nothing is left that a view could do without
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
  const takes = limit === null ? '' : ` It takes ${limit} tokens.`
  return new HoldfastError(
    'model_failed',
    `The model's provider refuses even the shortest view of this conversation as too long.${takes} ` +
      `Instructions and tools alone come to about ${least} tokens, the view to about ${tokens}. ` +
      'Use a model that takes more, or shorten the instructions, the tools or the last message.',
    {details: {retryable: false}},
  )
}
