import type {Frames} from '../device/runtime-service.ts'
import {tellListener} from '../protocol/tell-listeners.ts'
import type {PageParts} from './page-parts.ts'
import {retryLater} from './retry-later.ts'

/**
 * The value now, then every published change. Asks again when a new owner took over, since frames may have been lost
 * in between; a frame that arrives while asking wins over the answer, which is older.
 */
export function latest<Topic extends keyof Frames>(
  parts: Pick<PageParts, 'listen' | 'onOwnerChange'>,
  topic: Topic,
  ask: () => Promise<Frames[Topic] | null>,
  listener: (value: Frames[Topic]) => void,
): () => void {
  let stopped = false
  let frames = 0
  const stopListening = parts.listen(topic, frame => {
    frames += 1
    tellListener(listener, frame)
  })
  const refresh = async () => {
    const before = frames
    const value = await ask()
    if (!stopped && value !== null && frames === before) tellListener(listener, value)
  }
  const later = retryLater(() => refreshQuietly())
  const refreshQuietly = () => void refresh().then(later.succeeded, later.failed)
  const stopOwner = parts.onOwnerChange(refreshQuietly)
  refreshQuietly()
  return () => {
    stopped = true
    later.stop()
    stopListening()
    stopOwner()
  }
}
