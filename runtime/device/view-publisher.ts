import type {SessionView} from '../protocol/session-view.ts'
import {frameBetween, type HeldView, type ViewFrame} from '../protocol/view-frame.ts'

type Parts = {
  /** Unique for every opening of a session, so that frames of two openings are never mixed. */
  opening: string
  make: () => Promise<SessionView>
  publish: (frame: ViewFrame) => void
}

/** Publishes the changes since the last published view. Every listening page holds that view. */
export class ViewPublisher {
  #held: HeldView | null = null
  #count = 0
  #turns: Promise<unknown> = Promise.resolve()

  constructor(private readonly parts: Parts) {}

  /** Returns the complete current view. Its changes are published too, so that other pages stay up to date. */
  whole(): Promise<HeldView> {
    return this.#inTurn(() => this.#step())
  }

  async publish(): Promise<void> {
    await this.#inTurn(() => this.#step())
  }

  async #step(): Promise<HeldView> {
    const view = await this.parts.make()
    const revision = `${this.parts.opening}:${this.#count + 1}`
    const frame = this.#held ? frameBetween(this.#held, view, revision) : null
    if (this.#held && !frame) return this.#held
    this.#count += 1
    this.#held = {revision, view}
    if (frame) this.parts.publish(frame)
    return this.#held
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(work)
    this.#turns = turn.catch(() => undefined)
    return turn
  }
}
