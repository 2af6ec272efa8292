import * as z from 'zod'
import {type Poke, pokeSchema} from './bus.ts'

/** Message between processes: pokes, a heartbeat (no pokes), or a notice that the sender shuts down cleanly. */
export const busMessageSchema = z.strictObject({
  from: z.string(),
  pokes: z.array(pokeSchema),
  leaving: z.literal(true).optional(),
})
export type BusMessage = z.infer<typeof busMessageSchema>

/** Postgres accepts NOTIFY payloads of fewer than 8,000 bytes. */
export const payloadBytes = 7999
/** Maximum number of queued pokes. Beyond it, they are replaced by one `missed`. */
const mostKept = 10_000

/** Queue of pokes to send. Holds one poke per place: a later poke replaces an earlier one for the same place. */
export class BusOutbox {
  readonly #waiting = new Map<string, Poke>()

  constructor(private readonly from: string) {}

  get empty(): boolean {
    return this.#waiting.size === 0
  }

  add(poke: Poke): void {
    if (this.#waiting.has('missed')) return
    this.#waiting.set(placeOf(poke), poke)
    if (poke.type !== 'missed' && this.#waiting.size <= mostKept) return
    this.#waiting.clear()
    this.#waiting.set('missed', {type: 'missed'})
  }

  /**
   * Removes as many pokes as fit into one payload, oldest first, and returns the payload. A poke larger than a
   * payload is replaced by `missed`.
   */
  take(): string {
    const pokes: Poke[] = []
    let payload = textOf({from: this.from, pokes})
    for (const [place, poke] of this.#waiting) {
      const longer = textOf({from: this.from, pokes: [...pokes, poke]})
      if (Buffer.byteLength(longer) > payloadBytes) {
        if (pokes.length > 0) break
        this.#waiting.delete(place)
        return textOf({from: this.from, pokes: [{type: 'missed'}]})
      }
      this.#waiting.delete(place)
      pokes.push(poke)
      payload = longer
    }
    return payload
  }

  /** Requeues the pokes of an unsent payload, except where a newer poke for the same place is queued. */
  putBack(payload: string): void {
    for (const poke of readBusMessage(payload)?.pokes ?? []) if (!this.#waiting.has(placeOf(poke))) this.add(poke)
  }
}

/** Parses a payload. Returns null if it is not a bus message: any client of the database may write to its channels. */
export function readBusMessage(payload: string): BusMessage | null {
  try {
    return busMessageSchema.parse(JSON.parse(payload))
  } catch {
    return null
  }
}

function textOf(message: BusMessage): string {
  return JSON.stringify(message)
}

function placeOf(poke: Poke): string {
  if (poke.type === 'missed') return 'missed'
  const {head: _, ...place} = {head: 0, ...poke}
  return JSON.stringify(place)
}
