/** Names of all locks and channels of a database. */
export const channelNames = {
  owner: (name: string) => `holdfast:${name}`,
  takeOver: (name: string) => `holdfast:${name}:take-over`,
  alive: (name: string, worker: string) => `holdfast:${name}:alive:${worker}`,
  leadership: (name: string) => `holdfast:${name}:leadership`,
  link: (name: string, {leader, follower}: {leader: string; follower: string}) =>
    `holdfast:${name}:link:${leader}:${follower}`,
  feed: (name: string, topic: string) => `holdfast:${name}:feed:${topic}`,
}

export interface HeldLock {
  /** Resolves when the lock is held, with the function that releases it. */
  granted: Promise<() => void>
  /** Cancels the request. No effect when the lock is already held. */
  abort(): void
}

/** Requests a lock, or steals it with `steal`, and holds it until released. `lost` is called when it is stolen. */
export function holdLock(
  lock: string,
  {steal = false, lost = () => {}}: {steal?: boolean; lost?: () => void} = {},
): HeldLock {
  const waiting = new AbortController()
  const granted = new Promise<() => void>((resolve, reject) => {
    let held = false
    const hold = () =>
      new Promise<void>(release => {
        held = true
        resolve(release)
      })
    const options = steal ? {steal} : {signal: waiting.signal}
    navigator.locks.request(lock, options, hold).catch(error => (held ? lost() : reject(error)))
  })
  return {granted, abort: () => waiting.abort()}
}

/** Calls `then` when `lock` is released. Returns a function that stops watching. */
export function whenReleased(lock: string, then: () => void): () => void {
  const watching = new AbortController()
  navigator.locks.request(lock, {mode: 'shared', signal: watching.signal}, async () => {}).then(then, () => {})
  return () => watching.abort()
}

const needed: Record<string, () => boolean> = {
  'Web Locks (they need https or localhost)': () => typeof navigator === 'object' && 'locks' in navigator,
  BroadcastChannel: () => typeof BroadcastChannel === 'function',
  'workers for modules': () => typeof Worker === 'function',
}

/** Names of the required features that this browser lacks. */
export function missingFeatures(): string[] {
  return Object.entries(needed).flatMap(([feature, here]) => (here() ? [] : [feature]))
}
