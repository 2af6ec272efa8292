import {fromBase64, toBase64} from '../protocol/base64.ts'
import type {Draft, EventOf} from '../protocol/event.ts'
import type {SessionId} from '../protocol/ids.ts'
import type {Projection, UnitOfWork} from '../storage/device-store.ts'
import {foldDocument, isUpdate} from './shared-text.ts'

/**
 * Stores each document as a snapshot and the updates since. Applying a Yjs update is idempotent. [WRK-2]
 *
 * A fork starts with its parent's documents as of the fork point and excludes later edits. The parent's events may arrive
 * after the fork's. Updates commute, so inherited edits are applied in any order. [WRK-3]
 */
export const documentProjection: Projection = {
  async apply(unit, session, events) {
    for (const event of events) {
      if ('unreadable' in event) continue
      if (event.kind === 'session.forked') await inherit(unit, session, event.data.from)
      if (event.kind === 'document.updated') await fold(unit, session, event)
    }
  },
}

type Edit = EventOf<'document.updated'>

async function inherit(unit: UnitOfWork, fork: SessionId, from: {session: SessionId; seq: number}): Promise<void> {
  for (const event of await unit.asOf(from.session, from.seq, ['document.updated'])) {
    if (!('unreadable' in event) && event.kind === 'document.updated') await save(unit, fork, event)
  }
}

async function fold(unit: UnitOfWork, session: SessionId, event: Edit): Promise<void> {
  await save(unit, session, event)
  const {seq} = event
  if (seq === null) return
  const heirs = (await unit.forks(session)).filter(fork => fork.seq >= seq)
  // An inherited event precedes all own events of the fork, so forks of the fork inherit it too.
  for (const heir of heirs) await foldInherited(unit, heir.session, event)
}

async function foldInherited(unit: UnitOfWork, session: SessionId, event: Edit): Promise<void> {
  await save(unit, session, event)
  for (const heir of await unit.forks(session)) await foldInherited(unit, heir.session, event)
}

/** Limits of the updates kept after a snapshot. At a limit they are merged into a new snapshot. */
const most = {updates: 64, bytes: 32 * 1024}

async function save(unit: UnitOfWork, session: SessionId, event: Edit): Promise<void> {
  const {document, update} = event.data
  const bytes = fromBase64(update)
  // Skip an invalid update: its event stays in the log, and sync must continue.
  if (!isUpdate(bytes)) return
  const waiting = await unit.addToDocument(session, document, bytes)
  if (waiting.updates < most.updates && waiting.bytes < most.bytes) return
  const stored = await unit.document(session, document)
  if (stored) await unit.saveDocument(session, document, foldDocument(stored))
}

export function documentDraft(document: string, update: Uint8Array): Draft<'document.updated'> {
  return {kind: 'document.updated', data: {document, update: toBase64(update)}}
}
