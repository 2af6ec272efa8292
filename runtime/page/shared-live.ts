import {HoldfastError} from '../protocol/errors.ts'
import {toHex} from '../protocol/hex.ts'
import type {Person} from '../protocol/person.ts'
import type {LiveMessage} from '../protocol/wire.ts'
import type {CuttableLink} from '../sync/http-link.ts'

type Live = CuttableLink['live']

/** What the tab that holds the stream says to the others; `who` is asked by one that has just come. */
type Frame =
  | {type: 'message'; message: LiveMessage}
  | {type: 'alive'}
  | {type: 'over'; error: {code: HoldfastError['code']; message: string} | null}
  | {type: 'who'}

/** Milliseconds between two signs of life of the holder, and after which one that gave none is not waited for. */
const beatMs = 5000
const silenceMs = 20_000

/**
 * One live stream for all tabs of a browser that would open the same one: over HTTP/1.1 a browser has six connections to
 * a server, and six streams would leave none for anything else. The tab that holds the lock opens the stream and passes
 * on what it brings; when it closes, another takes over. [SYNC-8]
 *
 *   holder                                  others
 *     │ GET /v1/live                          │ wait for the lock
 *     │── message, alive (every 5 s) ───────▶ │
 *     │◀───────────────────────────── who ──  │ has just come: is there a stream?
 *     │── message hello ────────────────────▶ │
 *     │── over {error} ─────────────────────▶ │ the stream has ended: each begins again
 *
 * @example
 * const link = shareLive(httpLink({url, token}), async () => liveKey(url, person))
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
      // The stream of the tab that holds it, until that ends; or the lock comes first, and then it is ours.
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

/** The same in every tab of one person at one server. [ID-6] */
export async function liveKey(url: string, {tenant, subject}: Person): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([url, tenant, subject]))
  return `holdfast-live:${toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)))}`
}

function canShare(): boolean {
  return typeof navigator === 'object' && 'locks' in navigator && typeof BroadcastChannel === 'function'
}

/** Runs `work` once the lock is had, and holds it until the work is over; ends quietly when the wait is given up. */
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

/** Ends when the holder says so, or says nothing for long: a tab may be frozen or kept for the way back. */
function follow(channel: BroadcastChannel, hear: (message: LiveMessage) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const silent = () => reject(new HoldfastError('offline', 'the tab that holds the live connection fell silent'))
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
