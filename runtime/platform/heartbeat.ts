const everyMs = 5_000
const patienceMs = 20_000

/**
 * Detects a worker that no longer answers. A late timer means that this page was suspended; the deadline then starts
 * again.
 */
export function watchHeartbeat(worker: {ping(): void; dead(): void}): {heard(): void; stop(): void} {
  let heardAt = performance.now()
  let tickedAt = heardAt
  const ticking = setInterval(() => {
    const now = performance.now()
    if (now - tickedAt > 2 * everyMs) heardAt = now
    tickedAt = now
    if (now - heardAt > patienceMs) worker.dead()
    else worker.ping()
  }, everyMs)
  return {
    heard: () => {
      heardAt = performance.now()
    },
    stop: () => clearInterval(ticking),
  }
}
