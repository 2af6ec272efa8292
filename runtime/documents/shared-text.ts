import * as Y from 'yjs'
import type {StoredDocument} from '../storage/device-store.ts'

/** Merges a document into one update. Applying and re-encoding is smaller and faster than `Y.mergeUpdates`. */
export function foldDocument({snapshot, updates}: StoredDocument): Uint8Array {
  return withDoc(snapshot, doc => {
    applyAll(doc, updates)
    return Y.encodeStateAsUpdate(doc)
  })
}

export function applyUpdate(snapshot: Uint8Array | null, update: Uint8Array): Uint8Array {
  return foldDocument({snapshot, updates: [update]})
}

/** True when the bytes decode as a Yjs update. */
export function isUpdate(update: Uint8Array): boolean {
  try {
    Y.decodeUpdate(update)
    return true
  } catch {
    return false
  }
}

export function readText(snapshot: Uint8Array | null): string {
  return withDoc(snapshot, doc => doc.getText('text').toString())
}

/** Returns the update that changes the text to `text` by its smallest edit, so that concurrent edits survive. Null when equal. */
export function editText(snapshot: Uint8Array | null, text: string): Uint8Array | null {
  const updates = editUpdates(snapshot, text)
  return updates.length > 0 ? Y.mergeUpdates(updates) : null
}

/** Like `editText`, in as many updates as it takes for each to fit an event, oldest first. */
export function editUpdates(snapshot: Uint8Array | null, text: string): Uint8Array[] {
  return withDoc(snapshot, doc => {
    const edit = smallestEdit(doc.getText('text').toString(), text)
    return edit ? applyEdit(doc, edit) : []
  })
}

export type Edit = {at: number; remove: number; insert: string}

/** Most UTF-16 units that one update inserts: at most 48 KB in UTF-8. The limit of an update is 64 KiB. */
const insertedAtOnce = 16_000

/** Applies the edit and returns its updates, oldest first. A large insertion is split so that each update fits an event. */
export function applyEdit(doc: Y.Doc, edit: Edit): Uint8Array[] {
  const shared = doc.getText('text')
  const updates: Uint8Array[] = []
  const collect = (update: Uint8Array) => updates.push(update)
  doc.on('update', collect)
  const parts = portions(edit.insert, insertedAtOnce)
  let at = edit.at
  doc.transact(() => {
    shared.delete(at, edit.remove)
    shared.insert(at, parts[0] ?? '')
  })
  for (const [i, part] of parts.entries()) {
    if (i > 0) shared.insert(at, part)
    at += part.length
  }
  doc.off('update', collect)
  return updates
}

/** Splits `text` into parts of at most `most` units, never inside a surrogate pair. */
function portions(text: string, most: number): string[] {
  const parts: string[] = []
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + most, text.length)
    if (to < text.length && isHighSurrogate(text, to - 1)) to -= 1
    parts.push(text.slice(from, to))
    from = to
  }
  return parts
}

/** Returns the edit between the common prefix and suffix, never inside a surrogate pair. Null when equal. */
export function smallestEdit(from: string, to: string): Edit | null {
  if (from === to) return null
  const most = Math.min(from.length, to.length)
  let start = 0
  while (start < most && from[start] === to[start]) start++
  if (start > 0 && isHighSurrogate(from, start - 1)) start--
  let end = 0
  while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end++
  if (end > 0 && isLowSurrogate(from, from.length - end)) end--
  return {at: start, remove: from.length - start - end, insert: to.slice(start, to.length - end)}
}

function isHighSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xd800 && code <= 0xdbff
}

function isLowSurrogate(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}

function withDoc<T>(snapshot: Uint8Array | null, work: (doc: Y.Doc) => T): T {
  const doc = new Y.Doc()
  try {
    if (snapshot) Y.applyUpdate(doc, snapshot)
    return work(doc)
  } finally {
    doc.destroy()
  }
}

/** Returns the encoded Yjs snapshot of a document: the set of its current edits. */
export function snapshotOf(stored: Uint8Array): Uint8Array {
  return withDoc(stored, doc => Y.encodeSnapshot(Y.snapshot(doc)))
}

/** Returns the text at a snapshot, from all updates in any order. Null when updates are missing or invalid. */
export function readAt(updates: readonly Uint8Array[], encoded: Uint8Array): string | null {
  // Disable garbage collection: text that was deleted after the snapshot is needed.
  const doc = new Y.Doc({gc: false})
  try {
    const snapshot = Y.decodeSnapshot(encoded)
    applyAll(doc, updates)
    const have = Y.decodeStateVector(Y.encodeStateVector(doc))
    for (const [client, clock] of snapshot.sv) if ((have.get(client) ?? 0) < clock) return null
    return Y.createDocFromSnapshot(doc, snapshot).getText('text').toString()
  } catch {
    return null
  } finally {
    doc.destroy()
  }
}

/** Applies all updates and skips invalid ones. */
function applyAll(doc: Y.Doc, updates: readonly Uint8Array[]): void {
  for (const update of updates) {
    try {
      Y.applyUpdate(doc, update)
    } catch {}
  }
}
