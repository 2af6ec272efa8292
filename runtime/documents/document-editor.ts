import type {Draft} from '../protocol/event.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {UnitOfWork} from '../storage/device-store.ts'
import {documentDraft} from './document-projection.ts'
import {documentText} from './document-text.ts'
import {editUpdates, foldDocument, readText} from './shared-text.ts'

/** Reads and edits a session's shared documents in one unit of work. Append `drafts` in the same unit. */
export interface DocumentEditor {
  read(name: string): Promise<string>
  write(name: string, text: string): Promise<void>
  readonly drafts: readonly Draft<'document.updated'>[]
}

export function openDocumentEditor(unit: UnitOfWork, session: SessionId): DocumentEditor {
  const snapshots = new Map<string, Uint8Array | null>()
  const drafts: Draft<'document.updated'>[] = []
  const load = async (name: string) => {
    if (!snapshots.has(name)) {
      const stored = await unit.document(session, name)
      snapshots.set(name, stored && foldDocument(stored))
    }
    return snapshots.get(name) ?? null
  }
  return {
    drafts,
    read: async name => readText(await load(name)),
    write: async (name, text) => {
      const snapshot = await load(name)
      const updates = editUpdates(snapshot, documentText(name, text))
      if (updates.length === 0) return
      snapshots.set(name, foldDocument({snapshot, updates}))
      drafts.push(...updates.map(update => documentDraft(name, update)))
    },
  }
}
