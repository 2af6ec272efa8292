import type {Frames, RuntimeService} from '../device/runtime-service.ts'

type Parts = {
  service: Pick<RuntimeService, 'setPersisted'>
  listen(topic: 'sessions', listener: (sessions: Frames['sessions']) => void): () => void
  /** Null where the browser does not have `navigator.storage.persist()`. */
  persist: (() => Promise<boolean>) | null
}

/**
 * Asks the browser once to keep this site's data under storage pressure, as soon as this device holds unsent events. It
 * does not ask earlier, because some browsers show a prompt. The page asks, because not every browser allows a worker
 * to. The result becomes part of `storage`.
 */
export function askPersistence({service, listen, persist}: Parts): () => void {
  if (!persist) return () => undefined
  let asked = false
  const stop = listen('sessions', sessions => {
    if (asked || !sessions.some(({pending}) => pending > 0)) return
    asked = true
    // Without an answer, `persisted` stays null.
    persist()
      .then(granted => service.setPersisted(granted))
      .catch(() => undefined)
  })
  return stop
}
