/**
 * Tracks the other processes on the bus by the messages received from them. Time is passed in as `now`. A process
 * that falls silent without a leave message may have crashed between a commit and its poke. [SYNC-3]
 */
export class BusPeers {
  readonly #heard = new Map<string, number>()
  #looked: number | null = null

  /** A peer counts as dead after `silentMs` without a message. */
  constructor(private readonly silentMs: number) {}

  /** Records a message of `peer`. Returns true if the peer is new. */
  hear(peer: string, now: number): boolean {
    const fresh = !this.#heard.has(peer)
    this.#heard.set(peer, now)
    return fresh
  }

  leave(peer: string): void {
    this.#heard.delete(peer)
  }

  /**
   * Returns true if a peer died since the last call. If this process was itself suspended, silence proves nothing:
   * restarts the timeouts and returns false.
   */
  anybodyDied(now: number): boolean {
    const slept = this.#looked !== null && now - this.#looked > this.silentMs / 2
    this.#looked = now
    if (slept) {
      for (const peer of this.#heard.keys()) this.#heard.set(peer, now)
      return false
    }
    const dead = [...this.#heard].filter(([, heard]) => now - heard > this.silentMs)
    for (const [peer] of dead) this.#heard.delete(peer)
    return dead.length > 0
  }
}
