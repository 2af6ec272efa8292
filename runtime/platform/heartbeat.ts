const everyMs = 5_000
const patienceMs = 20_000

/**
 * Notices a worker that lives but no longer answers. A timer of our own that came late means that this page slept,
 * and then silence proves nothing.
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
