import {HoldfastError} from '../protocol/errors.ts'

/** Everything in one browser that carries a database's name is named here, so that no two parts can disagree. */
export const channelNames = {
  owner: (name: string) => `holdfast:${name}`,
  alive: (name: string, worker: string) => `holdfast:${name}:alive:${worker}`,
  leadership: (name: string) => `holdfast:${name}:leadership`,
  link: (name: string, leader: string, follower: string) => `holdfast:${name}:link:${leader}:${follower}`,
  feed: (name: string, topic: string) => `holdfast:${name}:feed:${topic}`,
}

/** Waits for the lock, then holds it until `release` is called or this context dies; `lost` says that it was stolen. */
export function holdLock(lock: string, lost: () => void = () => {}): Promise<() => void> {
  return new Promise((resolve, reject) => {
    let held = false
    const hold = () =>
      new Promise<void>(release => {
        held = true
        resolve(release)
      })
    navigator.locks.request(lock, hold).catch(error => (held ? lost() : reject(error)))
  })
}

/** Calls `then` once whoever holds `lock` has died: a shared request is granted the moment the holder is gone. */
export function whenReleased(lock: string, then: () => void): () => void {
  const watching = new AbortController()
  navigator.locks.request(lock, {mode: 'shared', signal: watching.signal}, async () => {}).then(then, () => {})
  return () => watching.abort()
}

const needed: Record<string, () => boolean> = {
  'Web Locks (they need https or localhost)': () => typeof navigator === 'object' && 'locks' in navigator,
  BroadcastChannel: () => typeof BroadcastChannel === 'function',
}

/** Throws 'misconfigured', naming what this browser lacks. */
export function requireFeatures(more: Record<string, () => boolean> = {}): void {
  const missing = Object.entries({...needed, ...more}).flatMap(([feature, here]) => (here() ? [] : [feature]))
  if (missing.length === 0) return
  throw new HoldfastError('misconfigured', `This browser lacks ${missing.join(' and ')}.`, {details: {missing}})
}
