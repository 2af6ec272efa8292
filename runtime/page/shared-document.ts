import * as Y from 'yjs'
import {smallestEdit} from '../documents/shared-text.ts'
import type {SessionId} from '../protocol/ids.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-parts.ts'

/** A text that the user, the agent and other devices edit together; edits merge, none is lost. [WRK-2] */
export interface SharedDocument {
  /** Told the text now and on every change; returns how to stop. */
  subscribe(listener: (text: string) => void): () => void
  /**
   * Turns the text last seen here into `text` by one edit; resolves when it is durable on this device.
   *
   * @throws HoldfastError `bad_input` for an edit over 64 KiB; the text then is again what it was before
   */
  edit(text: string): Promise<void>
}

/** The page keeps its own replica, so that an edit is relative to what its user saw and not to what came meanwhile. */
export function openSharedDocument(parts: PageParts, session: SessionId, name: string): SharedDocument {
  const listeners = new Set<(text: string) => void>()
  let doc = new Y.Doc()
  const text = () => doc.getText('text')
  const tell = () => {
    for (const listener of [...listeners]) listener(text().toString())
  }
  const take = (snapshot: Uint8Array) => {
    Y.applyUpdate(doc, snapshot)
    tell()
  }

  /** An edit that was not taken must leave the replica: later edits would build on what nobody else has. */
  const startOver = async () => {
    doc = new Y.Doc()
    const snapshot = await parts.service.document(session, name)
    if (snapshot) Y.applyUpdate(doc, snapshot)
    tell()
  }

  return {
    subscribe(listener) {
      listeners.add(listener)
      const stop = latest(parts, `document:${session}:${name}`, () => parts.service.document(session, name), take)
      listener(text().toString())
      return () => {
        stop()
        listeners.delete(listener)
      }
    },
    async edit(next) {
      const edit = smallestEdit(text().toString(), next)
      if (!edit) return
      const before = Y.encodeStateVector(doc)
      doc.transact(() => {
        text().delete(edit.at, edit.remove)
        text().insert(edit.at, edit.insert)
      })
      tell()
      const update = Y.encodeStateAsUpdate(doc, before)
      try {
        await parts.service.updateDocument(session, parts.environment.id('event'), name, update)
      } catch (error) {
        await startOver()
        throw error
      }
    },
  }
}
