import type {RunUsage} from '../protocol/budget.ts'
import type {Draft} from '../protocol/event.ts'
import type {SessionState} from '../protocol/session.ts'
import {runDraft} from './run-draft.ts'

/** Returns the event that ends a run after its model's last reply, which may be empty or incomplete. */
export function endOf(state: SessionState, used: {usage: RunUsage}): Draft {
  const {flawed = 0, step} = state.run ?? {}
  switch (step?.flaw) {
    case undefined:
      return runDraft(state, 'run.completed', {outcome: 'finished', ...used})
    case 'empty':
      return runDraft(state, 'run.failed', {code: 'model_failed', message: emptyWords(flawed), retryable: true})
    case 'cut':
    case 'filtered':
      return runDraft(state, 'run.completed', {outcome: 'partial', ...used})
  }
}

function emptyWords(times: number): string {
  const often = times === 1 ? '' : ` ${times} times in a row`
  return `The model gave no answer${often}. Try again, or ask in other words.`
}
