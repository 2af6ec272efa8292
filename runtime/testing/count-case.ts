import {isReadable, type LoggedEvent} from '../protocol/event.ts'

export type CaseCount = {
  steps: number
  /** Input and output tokens, as the model reported them. */
  tokens: number
  /** Whether a run was retried after a failure, continued in another process, or had an effect refused. */
  metTrouble: boolean
  /** Whether its last run completed in spite of that. */
  recovered: boolean
}

const troubles = ['run.failed', 'run.resumed', 'operation.refused', 'approval.rejected', 'approval.expired']

/** Computes the outcome of a session from its log. */
export function countCase(events: readonly LoggedEvent[]): CaseCount {
  let [steps, tokens] = [0, 0]
  let metTrouble = false
  let completed = false
  for (const event of events) {
    if (!isReadable(event)) continue
    metTrouble ||= troubles.includes(event.kind)
    if (event.kind === 'run.started') completed = false
    if (event.kind === 'step.prepared') steps += 1
    if (event.kind === 'run.completed') completed = event.data.outcome === 'finished'
    if (event.kind !== 'model.replied') continue
    tokens += (event.data.usage.inputTokens ?? 0) + (event.data.usage.outputTokens ?? 0)
  }
  return {steps, tokens, metTrouble, recovered: metTrouble && completed}
}
