import type {Frames, RuntimeService} from '../device/runtime-service.ts'

type Parts = {
  service: Pick<RuntimeService, 'setPersisted'>
  listen(topic: 'sessions', listener: (sessions: Frames['sessions']) => void): () => void
  /** Null where the browser has no such promise to give. */
  persist: (() => Promise<boolean>) | null
}

/**
 * Asks the browser to keep this site's data when it runs short of room: once, as soon as there is something that only
 * this device has. Some browsers ask the person, so it is not asked for nothing; workers cannot ask everywhere. The answer
 * is part of what `storage` tells.
 */
export function askPersistence({service, listen, persist}: Parts): () => void {
  if (!persist) return () => undefined
  let asked = false
  const stop = listen('sessions', sessions => {
    if (asked || !sessions.some(({pending}) => pending > 0)) return
    asked = true
    // An answer that does not come leaves it unknown.
    persist()
      .then(granted => service.setPersisted(granted))
      .catch(() => undefined)
  })
  return stop
}
