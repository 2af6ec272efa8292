/**
 * Who else is on the bus, by what is heard of them; knows no clock. Somebody who falls silent without a good-bye may have
 * died between a commit and the poke about it. [SYNC-3]
 */
export class BusPeers {
  readonly #heard = new Map<string, number>()
  #looked: number | null = null

  /** `silentMs` without a sign of life are a death. */
  constructor(private readonly silentMs: number) {}

  /** Says whether this is somebody new. */
  hear(peer: string, now: number): boolean {
    const fresh = !this.#heard.has(peer)
    this.#heard.set(peer, now)
    return fresh
  }

  leave(peer: string): void {
    this.#heard.delete(peer)
  }

  /** Whether somebody died since the last look. Whoever has slept itself cannot tell, and asks again later. */
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
