import type {Frames, RuntimeService} from '../device/runtime-service.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {PageParts} from './page-parts.ts'

/**
 * Page parts that stop working when the person leaves: no later call reaches their database, and no late result or
 * frame reaches the page. The exception is edits typed before: they are still stored in this person's database until it
 * closes. [ID-6]
 */
export function boundParts(parts: PageParts, isOpen: () => boolean): PageParts {
  return {
    ...parts,
    service: boundService(parts.service, isOpen),
    listen: <Topic extends keyof Frames>(topic: Topic, listener: (frame: Frames[Topic]) => void) =>
      parts.listen(topic, frame => {
        if (isOpen()) listener(frame)
      }),
    onOwnerChange: listener =>
      parts.onOwnerChange(() => {
        if (isOpen()) listener()
      }),
  }
}

type Method = (...args: unknown[]) => Promise<unknown>

function boundService(service: RuntimeService, isOpen: () => boolean): RuntimeService {
  return new Proxy(service, {
    get(target, name) {
      // `await` reads `then` of any object.
      if (typeof name === 'symbol' || name === 'then') return undefined
      const outlives = name === 'updateDocument'
      return async (...args: unknown[]) => {
        if (!isOpen() && !outlives) throw personGone()
        const answer = await (Reflect.get(target, name) as Method).apply(target, args)
        if (!isOpen() && !outlives) throw personGone()
        return answer
      }
    },
  })
}

export function personGone(): HoldfastError {
  return new HoldfastError('unauthenticated', 'This belongs to a person who is no longer signed in here.')
}
