import type {Draft} from '../protocol/event.ts'
import type {Projection} from '../storage/device-store.ts'
import {applyUpdate} from './shared-text.ts'

/** Keeps one snapshot a document beside the log; Yjs makes a repeated update harmless. [WRK-2] */
export const documentProjection: Projection = {
  async apply(unit, session, events) {
    for (const event of events) {
      if (event.kind !== 'document.updated' || 'unreadable' in event) continue
      const {document, update} = event.data
      const snapshot = await unit.document(session, document)
      const folded = applied(snapshot, fromBase64(update))
      if (folded) await unit.saveDocument(session, document, folded)
    }
  },
}

/** Null for bytes that are no Yjs update: the event stays in the log, and one bad edit must not stop the sync behind it. */
function applied(snapshot: Uint8Array | null, update: Uint8Array): Uint8Array | null {
  try {
    return applyUpdate(snapshot, update)
  } catch {
    return null
  }
}

export function documentDraft(document: string, update: Uint8Array): Draft<'document.updated'> {
  return {kind: 'document.updated', data: {document, update: toBase64(update)}}
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  // In slices: a spread of a large array overflows the stack.
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192))
  return btoa(binary)
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), character => character.charCodeAt(0))
}
