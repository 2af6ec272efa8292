import type {Connection} from '../protocol/session-view.ts'
import type {DeviceOwner, Owner} from './device-owner.ts'

/** Milliseconds that a first message waits for the server to identify its author. */
const patienceMs = 10_000

/** On a new device, the first message may be written before the first connection, but it needs an author. */
export class AwaitOwner {
  readonly #waiting = new Set<() => void>()

  constructor(
    private readonly owner: DeviceOwner,
    private readonly state: () => Connection['state'],
  ) {}

  /** Returns the owner; null when the server does not identify it in time or cannot be reached. */
  async get(): Promise<Owner | null> {
    if (this.owner.get() || this.#isHopeless) return this.owner.get()
    await new Promise<void>(resolve => {
      const end = () => {
        clearTimeout(timer)
        this.#waiting.delete(look)
        resolve()
      }
      const look = () => {
        if (this.owner.get() || this.#isHopeless) end()
      }
      const timer = setTimeout(end, patienceMs)
      this.#waiting.add(look)
    })
    return this.owner.get()
  }

  /** Call this when a person was identified or the connection has changed. */
  look(): void {
    for (const look of [...this.#waiting]) look()
  }

  get #isHopeless(): boolean {
    return this.state() === 'cut' || this.state() === 'unreachable'
  }
}
