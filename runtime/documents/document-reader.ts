import {fromBase64, toBase64} from '../protocol/base64.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import {foldDocument, readAt, readText, snapshotOf} from './shared-text.ts'

/** Reads a session's shared documents as they are, and exactly as they were. [WRK-2, VIEW-2] */
export interface DocumentReader {
  /**
   * The text now, as `unit` sees it if one is under way, and the Yjs snapshot (base64) that finds it again; null for a
   * document nobody has written.
   */
  now(session: SessionId, name: string, unit?: UnitOfWork): Promise<{text: string; snapshot: string} | null>
  /** The text that a snapshot names; null when edits that it names are not on this device. */
  at(session: SessionId, name: string, snapshot: string): Promise<string | null>
}

export function documentReader(store: Pick<DeviceStore, 'document' | 'read'>): DocumentReader {
  return {
    async now(session, name, unit) {
      const stored = await (unit ?? store).document(session, name)
      if (!stored) return null
      const folded = foldDocument(stored)
      return {text: readText(folded), snapshot: toBase64(snapshotOf(folded))}
    },
    async at(session, name, snapshot) {
      const edits = await store.read(session, Number.MAX_SAFE_INTEGER, ['document.updated'])
      const updates = edits.flatMap(({event}) =>
        event.kind === 'document.updated' && !('unreadable' in event) && event.data.document === name
          ? [fromBase64(event.data.update)]
          : [],
      )
      return readAt(updates, fromBase64(snapshot))
    },
  }
}
