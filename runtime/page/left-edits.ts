import * as z from 'zod'
import {fromBase64, toBase64} from '../protocol/base64.ts'
import {HoldfastError} from '../protocol/errors.ts'
import {eventIdSchema, sessionIdSchema} from '../protocol/ids.ts'
import type {EditOutbox} from './edit-outbox.ts'
import type {PageParts} from './page-parts.ts'

const leftSchema = z.object({
  session: sessionIdSchema,
  document: z.string(),
  event: eventIdSchema,
  update: z.string(),
  at: z.number(),
})

/** Edits that no session accepts are dropped after this many milliseconds: a week. */
const longest = 7 * 24 * 3_600_000

/**
 * Edits of the last second, saved in `localStorage` when the page goes away, because the worker that stores them stops
 * with it. Another page of the same database stores them under their event ids, so storing them twice changes nothing.
 * A database belongs to one person, so no other person's page reads them. [ID-6]
 */
export function leftEdits(database: string, storage: () => Storage) {
  const prefix = `holdfast-edit:${database}:`
  // One database's name may be a prefix of another's, so the rest of the key must be exactly an event id.
  const isOwn = (key: string) => key.startsWith(prefix) && eventIdSchema.safeParse(key.slice(prefix.length)).success
  const keys = () => Object.keys(storage()).filter(isOwn)
  return {
    isOwn,

    keep(outboxes: Iterable<EditOutbox>, now: number): void {
      for (const outbox of outboxes) {
        const {session, document} = outbox
        for (const {event, update} of outbox.unsent()) {
          const left = {session, document, event, update: toBase64(update), at: now}
          attempt(() => storage().setItem(prefix + event, JSON.stringify(left)))
        }
      }
    },

    async store(service: Pick<PageParts['service'], 'updateDocument'>, now: number): Promise<void> {
      // Event ids sort by time, so each edit is stored after those that it builds on.
      for (const key of attempt(keys)?.sort() ?? []) {
        const left = attempt(() => leftSchema.parse(JSON.parse(storage().getItem(key) ?? '')))
        const done = left ? await stored(service, left, now) : true
        if (done) attempt(() => storage().removeItem(key))
      }
    },

    /** Deletes the saved edits together with the database. [RET-3] */
    remove(): void {
      for (const key of attempt(keys) ?? []) attempt(() => storage().removeItem(key))
    },
  }
}

type Left = z.infer<typeof leftSchema>

/** Returns true when the edit needs no retry: it is stored, its session is erased, or it can never be accepted. */
async function stored(service: Pick<PageParts['service'], 'updateDocument'>, left: Left, now: number) {
  const {session, event, document, update, at} = left
  try {
    await service.updateDocument(session, event, document, fromBase64(update))
    return true
  } catch (error) {
    return HoldfastError.is(error, 'erased') || HoldfastError.is(error, 'bad_input') || now - at > longest
  }
}

/** Storage may be forbidden or full. Then the edits of the last second are lost with the page. */
function attempt<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    return null
  }
}
