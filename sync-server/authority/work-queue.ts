export type WorkQueue = {
  /** Queues the work. Replaces work of the same key that has not started. `work` must not throw. */
  add(key: string, work: () => Promise<void>): void
  idle(): Promise<void>
  close(): Promise<void>
}

/**
 * Creates a queue that runs at most `width` pieces of work at once, and one per key. A key added while it runs is run
 * once more afterwards.
 */
export function workQueue(width: number): WorkQueue {
  const waiting = new Map<string, () => Promise<void>>()
  const running = new Set<string>()
  let onIdle: (() => void)[] = []
  let closed = false

  const next = () => {
    for (const [key, work] of waiting) {
      if (running.size >= width) return
      if (running.has(key)) continue
      waiting.delete(key)
      running.add(key)
      void work().finally(() => {
        running.delete(key)
        next()
      })
    }
    if (running.size > 0) return
    for (const resolve of onIdle) resolve()
    onIdle = []
  }

  const idle = () =>
    running.size === 0 && waiting.size === 0
      ? Promise.resolve()
      : new Promise<void>(resolve => {
          onIdle.push(resolve)
        })

  return {
    add: (key, work) => {
      if (closed) return
      waiting.set(key, work)
      next()
    },
    idle,
    close: () => {
      closed = true
      waiting.clear()
      return idle()
    },
  }
}
