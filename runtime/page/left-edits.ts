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

/** Milliseconds after which edits that no session here takes are dropped: a week. */
const longest = 7 * 24 * 3_600_000

/**
 * Edits of the last second, kept in `localStorage` while the page goes away: the worker that stores them dies with the
 * page. Another page of the same database stores them, each under its own event id, so that twice changes nothing. A
 * database belongs to one person, so nobody else's page takes them. [ID-6]
 */
export function leftEdits(database: string, storage: () => Storage) {
  const prefix = `holdfast-edit:${database}:`
  // A database may be named like the beginning of another: what follows the name is an event id and nothing else.
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
      // Event ids sort by time, so an edit comes after those that it builds on.
      for (const key of attempt(keys)?.sort() ?? []) {
        const left = attempt(() => leftSchema.parse(JSON.parse(storage().getItem(key) ?? '')))
        const done = left ? await stored(service, left, now) : true
        if (done) attempt(() => storage().removeItem(key))
      }
    },

    /** Together with the database: nothing that was typed is left. [RET-3] */
    remove(): void {
      for (const key of attempt(keys) ?? []) attempt(() => storage().removeItem(key))
    },
  }
}

type Left = z.infer<typeof leftSchema>

/** True when nothing is left to do about it: stored, erased with its session, or never to be taken. */
async function stored(service: Pick<PageParts['service'], 'updateDocument'>, left: Left, now: number) {
  const {session, event, document, update, at} = left
  try {
    await service.updateDocument(session, event, document, fromBase64(update))
    return true
  } catch (error) {
    return HoldfastError.is(error, 'erased') || HoldfastError.is(error, 'bad_input') || now - at > longest
  }
}

/** Storage may be forbidden or full; then an edit of the last second is lost with its page. */
function attempt<T>(work: () => T): T | null {
  try {
    return work()
  } catch {
    return null
  }
}
