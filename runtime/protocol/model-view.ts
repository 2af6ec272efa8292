import type {EventId, RunId, SessionId, StepId} from './ids.ts'
import type {Json} from './json.ts'
import type {Transform} from './manifest.ts'

/** What the model saw at one step, rebuilt from the record and compared with it. [VIEW-2] */
export type ModelView = {
  session: SessionId
  run: RunId
  step: StepId
  /** The `step.prepared` event that holds the manifest. */
  event: EventId
  /** Counts the steps of the run from 1. */
  number: number
  /** The hash of what follows is the recorded one: these are the bytes that the model was sent. */
  exact: boolean
  /** Parts that can no longer be rebuilt, and why; empty when `exact`. */
  lacking: {part: string; why: string}[]
  /** The prompt and the tools as providers are given them; without the parts that are lacking. */
  prompt: Json
  tools: Json
  promptHash: string
  estimatedTokens: number
  transforms: Transform[]
}
