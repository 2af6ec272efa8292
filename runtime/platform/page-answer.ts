import type {Opening} from '../protocol/opening.ts'
import type {LeadershipMessage} from './leadership.ts'
import {channelNames} from './locks.ts'
import type {Observable} from './observable.ts'

export interface PageAnswer {
  /** Sets the id of the page's worker; null while it has none. */
  worker(id: string | null): void
  /** Closes the channel. Required before a page enters the back/forward cache. */
  pause(): void
  resume(): void
}

/**
 * Answers `who` messages for this page's worker while it owns the database. A worker in a long statement processes no
 * messages, and without this answer other tabs would treat it as frozen. The page checks the worker by heartbeat.
 */
export function answerForWorker(name: string, opening: Pick<Observable<Opening>, 'get'>): PageAnswer {
  let own: string | null = null
  let channel: BroadcastChannel | null = null

  function resume(): void {
    channel = new BroadcastChannel(channelNames.leadership(name))
    channel.onmessage = ({data}: MessageEvent<LeadershipMessage>) => {
      if (data.type !== 'who' || own === null || !owns(opening.get())) return
      const message: LeadershipMessage = {type: 'page', worker: own}
      channel?.postMessage(message)
    }
  }

  resume()
  return {
    worker(id) {
      own = id
    },
    pause() {
      channel?.close()
      channel = null
    },
    resume,
  }
}

function owns(opening: Opening): boolean {
  if (opening.state === 'open') return opening.role === 'leader'
  return opening.state === 'opening' && opening.step === 'database'
}
