import * as z from 'zod'
import {type Poke, pokeSchema} from './bus.ts'

/** What processes tell each other: pokes of one of them, nothing but a sign of life, or that it leaves in good order. */
export const busMessageSchema = z.strictObject({
  from: z.string(),
  pokes: z.array(pokeSchema),
  leaving: z.literal(true).optional(),
})
export type BusMessage = z.infer<typeof busMessageSchema>

/** Postgres takes payloads shorter than 8,000 bytes. */
export const payloadBytes = 7999
/** Kept while nothing can be sent; beyond it one `missed` says the same to everybody. */
const mostKept = 10_000

/** Pokes that are to be sent, each place once: a later one says all that an earlier one about the same place did. */
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

  /** As many as one payload holds, oldest first; they are no longer waiting. A poke too large for any becomes `missed`. */
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

  /** What could not be sent waits again, unless something later about the same place does. */
  putBack(payload: string): void {
    for (const poke of readBusMessage(payload)?.pokes ?? []) if (!this.#waiting.has(placeOf(poke))) this.add(poke)
  }
}

/** Null for what is no message of ours: anybody with the database may write to its channels. */
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
