import type {Opening} from '../protocol/opening.ts'
import type {LeadershipMessage} from './leadership.ts'
import {channelNames} from './locks.ts'
import type {Observable} from './observable.ts'

export interface PageAnswer {
  /** The page's worker, or null while it has none. */
  worker(id: string | null): void
  /** Lets go of the channel, as a page in the back/forward cache must. */
  pause(): void
  resume(): void
}

/**
 * Answers for this page's worker while it owns the database. A worker in the middle of a long statement hears nothing;
 * its page does, and watches over it: other tabs must not take it for frozen.
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
