/** Everything in one browser that carries a database's name is named here, so that no two parts can disagree. */
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
  /** Resolves when the lock is held, with the function that lets it go. */
  granted: Promise<() => void>
  /** Gives up waiting; nothing happens if the lock is held already. */
  abort(): void
}

/** Waits for the lock, or takes it from its holder, and holds it until released; `lost` says that it was taken away. */
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

/** Calls `then` once whoever holds `lock` has died: a shared request is granted the moment the holder is gone. */
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

/** What this browser lacks, in words; empty when everything is there. */
export function missingFeatures(): string[] {
  return Object.entries(needed).flatMap(([feature, here]) => (here() ? [] : [feature]))
}
