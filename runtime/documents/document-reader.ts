import {fromBase64, toBase64} from '../protocol/base64.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {DeviceStore, UnitOfWork} from '../storage/device-store.ts'
import {foldDocument, readAt, readText, snapshotOf} from './shared-text.ts'

/** Reads current and past versions of a session's shared documents. [WRK-2, VIEW-2] */
export interface DocumentReader {
  /**
   * Returns the current text, read through `unit` if given, and the Yjs snapshot (base64) for `at`. Returns null when the
   * document does not exist.
   */
  now(session: SessionId, name: string, unit?: UnitOfWork): Promise<{text: string; snapshot: string} | null>
  /** Returns the text at a snapshot; null when some of its edits are not on this device. */
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
