import * as Y from 'yjs'
import {smallestEdit} from '../documents/shared-text.ts'
import type {SessionId} from '../protocol/ids.ts'
import {latest} from './latest.ts'
import type {PageParts} from './page-runtime.ts'

/** A text that the user, the agent and other devices edit together; edits merge, none is lost. [WRK-2] */
export interface SharedDocument {
  /** Told the text now and on every change; returns how to stop. */
  subscribe(listener: (text: string) => void): () => void
  /** Turns the text last seen here into `text` by one edit; resolves when it is durable on this device. */
  edit(text: string): Promise<void>
}

/** The page keeps its own replica, so that an edit is relative to what its user saw and not to what came meanwhile. */
export function openSharedDocument(parts: PageParts, session: SessionId, name: string): SharedDocument {
  const doc = new Y.Doc()
  const text = doc.getText('text')
  return {
    subscribe(listener) {
      const tell = () => listener(text.toString())
      text.observe(tell)
      const stop = latest(
        parts,
        `document:${session}:${name}`,
        () => parts.service.document(session, name),
        snapshot => Y.applyUpdate(doc, snapshot),
      )
      tell()
      return () => {
        stop()
        text.unobserve(tell)
      }
    },
    async edit(next) {
      const edit = smallestEdit(text.toString(), next)
      if (!edit) return
      const before = Y.encodeStateVector(doc)
      doc.transact(() => {
        text.delete(edit.at, edit.remove)
        text.insert(edit.at, edit.insert)
      })
      const update = Y.encodeStateAsUpdate(doc, before)
      await parts.service.updateDocument(session, parts.environment.id('event'), name, update)
    },
  }
}
