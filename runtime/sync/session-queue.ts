import type {SessionId} from '../protocol/ids.ts'

/** So many sessions share the line at once: on a slow one, more would all come late. */
const atOnce = 2

type Job = {
  session: SessionId
  /** Something of it waits here to be sent. */
  push: boolean
  /** The head that the server is known to have. */
  head: number
  order: number
}
/** `more`: there is more to bring, and whoever is more urgent goes first. */
export type Turn = (session: SessionId, head: number) => Promise<'level' | 'more'>

/**
 * Brings sessions level with the server, a turn of each after the other: first what a person has open, then what was
 * written here, then the rest in the order in which it was named. A session has one turn at a time. [SYNC-8]
 */
export class SessionQueue {
  readonly #waiting = new Map<SessionId, Job>()
  readonly #running = new Map<SessionId, Promise<void>>()
  readonly #opened = new Map<SessionId, number>()
  #order = 0
  #closed = false

  /** `turn` must not throw; what fails in it is its own to repeat. */
  constructor(private readonly turn: Turn) {}

  add(session: SessionId, {push = false, head = 0}: {push?: boolean; head?: number}): void {
    if (this.#closed) return
    const job = this.#waiting.get(session)
    if (job) Object.assign(job, {push: job.push || push, head: Math.max(job.head, head)})
    else this.#waiting.set(session, {session, push, head, order: ++this.#order})
    this.#next()
  }

  /** A person looks at it: of all that wait it goes first. */
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
