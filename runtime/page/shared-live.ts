import {HoldfastError} from '../protocol/errors.ts'
import {toHex} from '../protocol/hex.ts'
import type {Person} from '../protocol/person.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import type {CuttableLink} from '../sync/http-link.ts'

type Live = CuttableLink['live']

/** Messages between the tab that holds the stream and the others. A new tab sends `who`. */
type Frame =
  | {type: 'message'; message: LiveMessage}
  | {type: 'alive'}
  | {type: 'over'; error: {code: HoldfastError['code']; message: string} | null}
  | {type: 'who'}

/** The holder sends `alive` every `beatMs`. After `silenceMs` without a message, the others stop waiting for it. */
const beatMs = 5000
const silenceMs = 20_000

/**
 * Shares one live stream between all tabs of a browser. Over HTTP/1.1 a browser opens at most six connections to a
 * server, and a stream for each tab could use them all. The tab that holds the lock opens the stream and forwards its
 * messages. When it closes, another tab takes over. [SYNC-8]
 *
 *   holder                                  others
 *     │ GET /v1/live                          │ wait for the lock
 *     │── message, alive (every 5 s) ───────▶ │
 *     │◀───────────────────────────── who ──  │ sent by a new tab: is there a stream?
 *     │── message hello ────────────────────▶ │
 *     │── over {error} ─────────────────────▶ │ the stream has ended: every tab starts again
 *
 * @example const link = shareLive(httpLink({url, token}), async () => liveKey(url, person))
 */
export function shareLive(link: CuttableLink, key: () => Promise<string | null>): CuttableLink {
  link.live = sharedLive(link.live, key)
  return link
}

function sharedLive(live: Live, key: () => Promise<string | null>): Live {
  return async (onMessage, signal) => {
    const name = canShare() ? await beforeAbort(signal, key()) : null
    if (signal.aborted) return
    if (name === null) return live(onMessage, signal)
    const channel = new BroadcastChannel(name)
    const over = new AbortController()
    const following = new AbortController()
    const all = AbortSignal.any([signal, over.signal])
    let leading = false
    const lead = () => {
      leading = true
      following.abort()
      return hold(live, channel, onMessage, all)
    }
    const followed = follow(channel, onMessage, AbortSignal.any([all, following.signal]))
    try {
      // Follows the holder's stream until it ends. If this tab gets the lock first, it opens the stream itself.
      await Promise.race([
        whenLocked(name, all, lead),
        followed.then(() => (leading ? new Promise<void>(() => undefined) : undefined)),
      ])
    } finally {
      over.abort()
      channel.close()
    }
  }
}

function beforeAbort<T>(signal: AbortSignal, work: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => resolve(null), {once: true})
    work.then(resolve, reject)
  })
}

/** Name of the lock and channel: the same in every tab for one person and one server. [ID-6] */
export async function liveKey(url: string, {tenant, subject}: Person): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([url, tenant, subject]))
  return `holdfast-live:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))}`
}

function canShare(): boolean {
  return typeof navigator === 'object' && 'locks' in navigator && typeof BroadcastChannel === 'function'
}

/** Runs `work` while holding the lock. Returns without an error when the wait is aborted. */
async function whenLocked(name: string, signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await navigator.locks.request(name, {signal}, work)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function hold(live: Live, channel: BroadcastChannel, hear: (message: LiveMessage) => void, signal: AbortSignal) {
  let greeted = false
  const tell = (frame: Frame) => channel.postMessage(frame)
  channel.onmessage = ({data}: MessageEvent<Frame>) => {
    if (data.type === 'who' && greeted) tell({type: 'message', message: {type: 'hello'}})
  }
  tell({type: 'alive'})
  const beat = setInterval(() => tell({type: 'alive'}), beatMs)
  try {
    await live(message => {
      greeted ||= message.type === 'hello'
      tell({type: 'message', message})
      hear(message)
    }, signal)
    tell({type: 'over', error: null})
  } catch (caught) {
    const {code, message} = HoldfastError.from(caught, 'offline')
    tell({type: 'over', error: {code, message}})
    throw caught
  } finally {
    clearInterval(beat)
  }
}

/** Follows the holder's messages. Fails when the holder is silent for too long: its tab may be frozen. */
function follow(channel: BroadcastChannel, hear: (message: LiveMessage) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const silent = () =>
      reject(new HoldfastError('offline', 'The tab that holds the live connection does not respond.'))
    let timer = setTimeout(silent, silenceMs)
    channel.onmessage = ({data}: MessageEvent<Frame>) => {
      if (data.type === 'who') return
      clearTimeout(timer)
      timer = setTimeout(silent, silenceMs)
      if (data.type === 'message') hear(data.message)
      if (data.type !== 'over') return
      clearTimeout(timer)
      if (data.error) reject(new HoldfastError(data.error.code, data.error.message))
      else resolve()
    }
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
    channel.postMessage({type: 'who'} satisfies Frame)
  })
}
