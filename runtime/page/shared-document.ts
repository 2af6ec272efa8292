import * as Y from 'yjs'
import * as z from 'zod'
import {documentText} from '../documents/document-text.ts'
import {applyEdit, smallestEdit} from '../documents/shared-text.ts'
import {parse} from '../protocol/errors.ts'
import type {SessionId} from '../protocol/ids.ts'
import {tellListener, tellListeners} from '../protocol/tell-listeners.ts'
import {EditOutbox} from './edit-outbox.ts'
import {latest} from './latest.ts'
import {listenerOf} from './listener-argument.ts'
import type {PageParts} from './page-parts.ts'

/** A text that the user, the agent and other devices edit together; edits merge, none is lost. [WRK-2] */
export interface SharedDocument {
  /** Calls `listener` with the text now and after every change. Returns an unsubscribe function. */
  subscribe(listener: (text: string) => void): () => void
  /**
   * Replaces the text last seen here by `text`, as one edit. Resolves when it is durable on this device: at once for
   * the first edit, within a second for edits that follow quickly, which are stored as one event.
   *
   * @throws HoldfastError `bad_input` for anything but a string, `too_large` for a text over 100,000 characters. Nothing is stored, and listeners are not called until a shorter text is given, so an editor keeps what was typed.
   * @example const draft = session.document('draft') await draft.edit('Dear Lena,')
   */
  edit(text: string): Promise<void>
  /** Stores the edits of the last second now. Resolves when they are durable on this device. */
  flush(): Promise<void>
}

/** The page keeps its own replica, so that an edit is relative to what its user saw and not to what came meanwhile. */
export function openSharedDocument(parts: PageParts, session: SessionId, name: string): SharedDocument {
  const {service, environment, edits} = parts
  const listeners = new Set<(text: string) => void>()
  const doc = new Y.Doc()
  const text = () => doc.getText('text').toString()
  /** The document as the person saw it when they exceeded the limit. */
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
    tellListeners(listeners, text())
  }

  /** Adds the edits to the outbox. Edits by others since a refusal are merged. */
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

  const storable = (text: string): string => {
    try {
      return documentText(name, text)
    } catch (error) {
      refused ??= {base: Y.encodeStateAsUpdate(doc)}
      throw error
    }
  }

  return {
    subscribe(given) {
      const listener = listenerOf(given, 'document.subscribe')
      listeners.add(listener)
      const take = (snapshot: Uint8Array) => {
        Y.applyUpdate(doc, snapshot)
        tell()
      }
      const stop = latest(parts, `document:${session}:${name}`, () => service.document(session, name), take)
      tellListener(listener, text())
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    async edit(given) {
      const next = parse(z.string(), given, 'document.edit')
      await write(storable(next))
    },
    flush: () => outbox.flush(),
  }
}

function docOf(snapshot: Uint8Array): Y.Doc {
  const doc = new Y.Doc()
  Y.applyUpdate(doc, snapshot)
  return doc
}
