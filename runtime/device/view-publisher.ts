import type {SessionView} from '../protocol/session-view.ts'
import {frameBetween, type HeldView, type ViewFrame} from '../protocol/view-frame.ts'

type Parts = {
  /** Different for every opening of a session: a page must not take the frames of one for those of another. */
  opening: string
  make: () => Promise<SessionView>
  publish: (frame: ViewFrame) => void
}

/** Publishes what has changed since the view published last; every page that listens holds that same view. */
export class ViewPublisher {
  #held: HeldView | null = null
  #count = 0
  #turns: Promise<unknown> = Promise.resolve()

  constructor(private readonly parts: Parts) {}

  /** The whole view as it is now. What it brings that is new is published too, so that nobody is left behind. */
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
