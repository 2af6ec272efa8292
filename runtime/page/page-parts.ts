import type {Frames, RuntimeService} from '../device/runtime-service.ts'
import type {Environment} from '../protocol/environment.ts'
import type {EditOutbox} from './edit-outbox.ts'

export type Listen = <Topic extends keyof Frames>(topic: Topic, listener: (frame: Frames[Topic]) => void) => () => void

/** What a page needs: the service, wherever its owner runs, and the frames it publishes. */
export type PageParts = {
  service: RuntimeService
  listen: Listen
  /** Called when a new owner took over: frames of the old one may have been lost. */
  onOwnerChange(listener: () => void): () => void
  environment: Environment
  /** Documents with edits that are not durable yet, so that they can be kept when the page goes away. */
  edits?: Set<EditOutbox>
}
