import type {RuntimeService} from '../device/runtime-service.ts'
import {type EditOutbox, flushEdits} from './edit-outbox.ts'
import {leftEdits} from './left-edits.ts'

type Parts = {service: Pick<RuntimeService, 'updateDocument'>; edits: ReadonlySet<EditOutbox>; database: string}

/**
 * Keeps edits when the page is hidden or closed. A hidden page may never become visible again, and closing the page
 * stops its worker. Edits left in `localStorage` are moved into the database as soon as any page of it runs, so that
 * erasure, sign-out and wipe find them there. [RET-3]
 */
export function keepEditsOfPage({service, edits, database}: Parts): {close(): Promise<void>} {
  const left = leftEdits(database, () => localStorage)
  const bring = () => left.store(service, Date.now())
  const hide = () => void flushEdits(edits)
  const leave = () => left.keep(edits, Date.now())
  // After the back/forward cache the page still has its edits, so their copies are stored and removed.
  const back = ({persisted}: PageTransitionEvent) => void (persisted && bring())
  const leftElsewhere = ({key, newValue}: StorageEvent) =>
    void (key !== null && newValue !== null && left.isOwn(key) && bring())
  document.addEventListener('visibilitychange', hide)
  addEventListener('pagehide', leave)
  addEventListener('pageshow', back)
  addEventListener('storage', leftElsewhere)
  void bring()
  return {
    async close() {
      await flushEdits(edits)
      await bring()
      // Edits that were not stored in time are stored when this person's database opens again.
      leave()
      document.removeEventListener('visibilitychange', hide)
      removeEventListener('pagehide', leave)
      removeEventListener('pageshow', back)
      removeEventListener('storage', leftElsewhere)
    },
  }
}
