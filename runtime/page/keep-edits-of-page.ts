import type {RuntimeService} from '../device/runtime-service.ts'
import {type EditOutbox, flushEdits} from './edit-outbox.ts'
import {leftEdits} from './left-edits.ts'

type Parts = {service: Pick<RuntimeService, 'updateDocument'>; edits: ReadonlySet<EditOutbox>; database: string}

/**
 * A hidden page may never be seen again, and a page that goes away takes its worker along. What it leaves in
 * `localStorage` is brought into the database as soon as any page of it lives, so that erasure, sign-out and wipe find
 * nothing outside of the database. [RET-3]
 */
export function keepEditsOfPage({service, edits, database}: Parts): {close(): Promise<void>} {
  const left = leftEdits(database, () => localStorage)
  const bring = () => left.store(service, Date.now())
  const hide = () => void flushEdits(edits)
  const leave = () => left.keep(edits, Date.now())
  // Back from the back/forward cache, the page has its edits still, and their copies are of no use any more.
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
      // What could not be stored in time is stored when this person's database is open again.
      leave()
      document.removeEventListener('visibilitychange', hide)
      removeEventListener('pagehide', leave)
      removeEventListener('pageshow', back)
      removeEventListener('storage', leftElsewhere)
    },
  }
}
