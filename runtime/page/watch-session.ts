import type {SessionId} from '../protocol/ids.ts'
import type {SessionView} from '../protocol/session-view.ts'
import {tellListener} from '../protocol/tell-listeners.ts'
import {applyFrame, type HeldView, type ViewFrame} from '../protocol/view-frame.ts'
import type {PageParts} from './page-parts.ts'
import {retryLater} from './retry-later.ts'

/**
 * Calls `listener` with the view of a session now and after every change. Frames hold only what has changed: after a
 * frame that does not fit, or a new owner, the complete view is requested again. Returns an unsubscribe function.
 */
export function watchSession(
  {service, listen, onOwnerChange}: Pick<PageParts, 'service' | 'listen' | 'onOwnerChange'>,
  session: SessionId,
  listener: (view: SessionView) => void,
): () => void {
  let stopped = false
  let held: HeldView | null = null
  let asking: Promise<void> | null = null
  /** The last frame received while the complete view was requested. It may be newer than the response. */
  let missed: ViewFrame | null = null

  const take = (next: HeldView) => {
    held = next
    if (!stopped) tellListener(listener, next.view)
  }
  const ask = async () => {
    do {
      missed = null
      const answer = applyFrame(null, await service.watch(session))
      const late: ViewFrame | null = missed
      if (answer && answer.revision !== held?.revision) take(answer)
      if (late) missed = follows(answer, late) ? null : late
    } while (missed && !stopped)
  }
  const refresh = () => {
    asking ??= ask()
      .then(later.succeeded, later.failed)
      .finally(() => {
        asking = null
      })
  }
  const later = retryLater(() => refresh())
  const hear = (frame: ViewFrame) => {
    if (asking) {
      missed = frame
      return
    }
    if (frame.revision === held?.revision) return
    const next = applyFrame(held, frame)
    if (next) take(next)
    else refresh()
  }
  /** Whether the response already includes the frame, or the frame can be applied to it. */
  const follows = (answer: HeldView | null, frame: ViewFrame): boolean => {
    if (frame.revision === answer?.revision) return true
    const next = applyFrame(answer, frame)
    if (next) take(next)
    return next !== null
  }

  const stops = [listen(`session:${session}`, hear), onOwnerChange(refresh)]
  refresh()
  return () => {
    stopped = true
    later.stop()
    for (const stop of stops) stop()
  }
}
