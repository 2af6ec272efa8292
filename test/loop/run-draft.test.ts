import {expect, test} from 'vitest'
import {runDraft} from '../../runtime/loop/run-draft.ts'
import {decide} from '../../runtime/protocol/decide.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {fold, repliedEvents, scribe} from '../support/events.ts'

test('[CUS-1] a result that was on its way while custody left and came back is not taken for one of the new epoch', () => {
  const desk = scribe()
  const chosen = fold(repliedEvents(desk))
  const {device, other, read} = desk.names
  const moved = [other, device].map((holder, i) =>
    desk.event('custody.granted', {data: {holder, epoch: i + 2, reason: 'requested'}}),
  )
  const now = fold(moved, chosen)
  const result = {call: read, outcome: 'ok', output: null} as const
  const draft = (state: typeof now) => ({...desk.event('tool.returned'), ...runDraft(state, 'tool.returned', result)})
  expect(decide(now, draft(chosen) as Event).refusal?.code).toBe('stale_epoch')
  expect(decide(now, draft(now) as Event).refusal).toBeNull()
})
