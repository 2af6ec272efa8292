import type {SessionId} from '../protocol/ids.ts'

/** Sessions that sync at the same time. More would all be late on a slow line. */
const atOnce = 2

type Job = {
  session: SessionId
  /** The session has events to push. */
  push: boolean
  /** The server's head, as far as known. */
  head: number
  order: number
}
/** `more`: the session needs another turn; more urgent sessions go first. */
export type Turn = (session: SessionId, head: number) => Promise<'level' | 'more'>

/**
 * Syncs sessions in turns: first the one that a person has open, then those with local changes, then the rest in the
 * order of `add`. A session has one turn at a time. [SYNC-8]
 */
export class SessionQueue {
  readonly #waiting = new Map<SessionId, Job>()
  readonly #running = new Map<SessionId, Promise<void>>()
  readonly #opened = new Map<SessionId, number>()
  #order = 0
  #closed = false

  /** `turn` must not throw. It repeats its own failures. */
  constructor(private readonly turn: Turn) {}

  add(session: SessionId, {push = false, head = 0}: {push?: boolean; head?: number}): void {
    if (this.#closed) return
    const job = this.#waiting.get(session)
    if (job) Object.assign(job, {push: job.push || push, head: Math.max(job.head, head)})
    else this.#waiting.set(session, {session, push, head, order: ++this.#order})
    this.#next()
  }

  /** A person has opened this session, so it goes first. */
  open(session: SessionId): void {
    this.#opened.delete(session)
    this.#opened.set(session, ++this.#order)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#waiting.clear()
    await Promise.all(this.#running.values())
  }

  #next(): void {
    while (this.#running.size < atOnce) {
      const job = this.#mostUrgent()
      if (!job) return
      this.#waiting.delete(job.session)
      const done = this.#take(job).finally(() => {
        this.#running.delete(job.session)
        this.#next()
      })
      this.#running.set(job.session, done)
    }
  }

  async #take({session, head}: Job): Promise<void> {
    if ((await this.turn(session, head)) === 'more') this.add(session, {head})
  }

  #mostUrgent(): Job | null {
    let first: Job | null = null
    for (const job of this.#waiting.values()) {
      if (!this.#running.has(job.session) && (!first || this.#goesBefore(job, first))) first = job
    }
    return first
  }

  #goesBefore(a: Job, b: Job): boolean {
    const [openedA, openedB] = [this.#opened.get(a.session) ?? 0, this.#opened.get(b.session) ?? 0]
    if (openedA !== openedB) return openedA > openedB
    if (a.push !== b.push) return a.push
    return a.order < b.order
  }
}
