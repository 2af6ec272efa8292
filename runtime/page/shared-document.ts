import * as Y from 'yjs'
import {applyEdit, smallestEdit, wellFormed} from '../documents/shared-text.ts'
import {HoldfastError} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import {limits} from '../protocol/version.ts'
import {EditOutbox} from './edit-outbox.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-parts.ts'

/** A text that the user, the agent and other devices edit together; edits merge, none is lost. [WRK-2] */
export interface SharedDocument {
  /** Calls `listener` with the text now and after every change. Returns an unsubscribe function. */
  subscribe(listener: (text: string) => void): () => void
  /**
   * Turns the text last seen here into `text` by one edit. Resolves when it is durable on this device: at once for the
   * first edit, within a second for those that follow quickly, which are stored as one event.
   *
   * @throws HoldfastError `too_large` for a text over 100,000 characters. Nothing is stored then, and the document is
   * told to nobody until a shorter text is given, so an editor keeps what was typed.
   * @example
   * const draft = session.document('draft')
   * await draft.edit('Dear Lena,')
   */
  edit(text: string): Promise<void>
  /** Stores now what was edited within the last second. Resolves when it is durable on this device. */
  flush(): Promise<void>
}

/** The page keeps its own replica, so that an edit is relative to what its user saw and not to what came meanwhile. */
export function openSharedDocument(parts: PageParts, session: SessionId, name: string): SharedDocument {
  const {service, environment, edits} = parts
  const listeners = new Set<(text: string) => void>()
  const doc = new Y.Doc()
  const text = () => doc.getText('text').toString()
  /** The document as the person saw it when they wrote more than it may hold. */
  let refused: {base: Uint8Array} | null = null
  const outbox = new EditOutbox({
    session,
    document: name,
    nextId: () => environment.id('event'),
    send: ({event, update}) => service.updateDocument(session, event, name, update),
    ...(edits && {open: edits}),
  })
  const tell = () => {
    if (refused) return
    for (const listener of [...listeners]) listener(text())
  }

  /** The edits made now, told to the outbox one by one; what others wrote since the refusal is merged in. */
  const write = (next: string): Promise<void> => {
    const at = refused ? docOf(refused.base) : doc
    refused = null
    const edit = smallestEdit(at.getText('text').toString(), next)
    if (!edit) return outbox.flush()
    const updates = applyEdit(at, edit)
    if (at !== doc) for (const update of updates) Y.applyUpdate(doc, update)
    tell()
    return Promise.all(updates.map(update => outbox.add(update))).then(() => undefined)
  }

  return {
    subscribe(listener) {
      listeners.add(listener)
      const take = (snapshot: Uint8Array) => {
        Y.applyUpdate(doc, snapshot)
        tell()
      }
      const stop = latest(parts, `document:${session}:${name}`, () => service.document(session, name), take)
      listener(text())
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    async edit(next) {
      if (next.length > limits.documentCharacters) {
        refused ??= {base: Y.encodeStateAsUpdate(doc)}
        throw tooLong(name, next.length)
      }
      await write(wellFormed(next))
    },
    flush: () => outbox.flush(),
  }
}

function docOf(snapshot: Uint8Array): Y.Doc {
  const doc = new Y.Doc()
  Y.applyUpdate(doc, snapshot)
  return doc
}

function tooLong(document: string, characters: number): HoldfastError {
  const limit = limits.documentCharacters
  return new HoldfastError(
    'too_large',
    `document "${document}": expected at most ${limit} characters, got ${characters}; the text was not stored`,
    {details: {field: 'text', document, characters, limit}},
  )
}
