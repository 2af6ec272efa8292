import type {SessionId} from '../protocol/ids.ts'

/**
 * Notices a stream that said hello and then brings news late or not at all: the server pokes every stream of a person
 * about each push, the one of the pushing device too, so a poke about our own push has to come. [SYNC-8]
 */
export class PokeCheck {
  readonly #heard = new Map<SessionId, number>()
  readonly #due = new Map<SessionId, {head: number; timer: ReturnType<typeof setTimeout>}>()

  constructor(
    private readonly lateMs: number,
    private readonly late: () => void,
  ) {}

  /** The server has just taken something of ours; its poke may have come before its answer. */
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

  /** The stream is gone, and what it did not bring is no sign any more. */
  clear(): void {
    for (const {timer} of this.#due.values()) clearTimeout(timer)
    this.#due.clear()
    this.#heard.clear()
  }
}
