import type {RuntimeService} from '../device/runtime-service.ts'
import type {Connection} from '../protocol/session-view.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-parts.ts'

/** Milliseconds between two calls; the database's owner bounds the rate of the requests that they cause. */
const everyMs = 2_000
/** Milliseconds after the last sign of a person in which somebody is taken to wait. */
const waitsMs = 5 * 60_000

type Parts = Pick<PageParts, 'listen' | 'onOwnerChange'> & {
  service: Pick<RuntimeService, 'connection' | 'attend'>
  now(): number
}

/**
 * Tells the owner of the database that a person waits for the server, so that it tries again within seconds of the line
 * being repaired instead of after a long pause. Only a visible page whose person has shown a sign lately counts. Only
 * this page knows that: the worker does not see whether a page is visible. Returns a function that stops it. [SYNC-6]
 */
export function keepAttended({service, listen, onOwnerChange, now}: Parts): () => void {
  let lastSign = now()
  let timer: ReturnType<typeof setInterval> | null = null
  const waits = () => document.visibilityState === 'visible' && now() - lastSign < waitsMs
  const attend = () => void (waits() && service.attend().catch(() => undefined))
  const sign = () => {
    lastSign = now()
  }
  const shown = () => {
    sign()
    if (timer !== null) attend()
  }
  const follow = ({state}: Connection) => {
    const away = state === 'unreachable'
    if (away && timer === null) timer = setInterval(attend, everyMs)
    if (away || timer === null) return
    clearInterval(timer)
    timer = null
  }
  const stop = latest({listen, onOwnerChange}, 'connection', () => service.connection(), follow)
  document.addEventListener('visibilitychange', shown)
  for (const event of ['pointerdown', 'keydown']) addEventListener(event, sign, {capture: true, passive: true})
  return () => {
    stop()
    if (timer !== null) clearInterval(timer)
    document.removeEventListener('visibilitychange', shown)
    for (const event of ['pointerdown', 'keydown']) removeEventListener(event, sign, {capture: true})
  }
}
