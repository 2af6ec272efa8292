import {isReadable, type LoggedEvent} from '../protocol/event.ts'

export type CaseCount = {
  steps: number
  /** Input and output together, as the model told them. */
  tokens: number
  /** A run failed and was retried, went on in another process, or had an effect refused to it. */
  metTrouble: boolean
  /** It did, and its last run completed all the same. */
  recovered: boolean
}

const troubles = ['run.failed', 'run.resumed', 'operation.refused', 'approval.rejected', 'approval.expired']

/** Pure: what a session came to, from its log. */
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
