import type {SessionId} from '../protocol/ids.ts'

/**
 * Detects a live stream that delivers pokes late or not at all. The server pokes every stream of a person about each
 * push, including the pushing device's, so a poke about an own push must arrive. [SYNC-8]
 */
export class PokeCheck {
  readonly #heard = new Map<SessionId, number>()
  readonly #due = new Map<SessionId, {head: number; timer: ReturnType<typeof setTimeout>}>()

  constructor(
    private readonly lateMs: number,
    private readonly late: () => void,
  ) {}

  /** The server has accepted a push. Its poke may have arrived before its response. */
  expect(session: SessionId, head: number): void {
    if ((this.#heard.get(session) ?? 0) >= head) return
    clearTimeout(this.#due.get(session)?.timer)
    const timer = setTimeout(() => {
      this.#due.delete(session)
      this.late()
    }, this.lateMs)
    this.#due.set(session, {head, timer})
  }

  heard(session: SessionId, head: number): void {
    this.#heard.set(session, Math.max(head, this.#heard.get(session) ?? 0))
    const due = this.#due.get(session)
    if (!due || due.head > head) return
    clearTimeout(due.timer)
    this.#due.delete(session)
  }

  /** The stream has ended, so missing pokes mean nothing. */
  clear(): void {
    for (const {timer} of this.#due.values()) clearTimeout(timer)
    this.#due.clear()
    this.#heard.clear()
  }
}
