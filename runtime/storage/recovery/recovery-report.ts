import type {Environment} from '../../protocol/environment.ts'
import type {Recovery} from '../../protocol/recovery.ts'
import {shortened} from '../../protocol/text.ts'
import type {OutboxState} from '../outbox/outbox-state.ts'
import type {DeviceDatabase} from '../pglite/device-database.ts'
import type {Compared} from './compare-database.ts'
import type {Salvaged} from './salvage.ts'

/** Builds the report of this open. Returns null if the database was intact and complete. */
export function reportOf(
  {previous, fresh}: DeviceDatabase,
  {sessions, restored, refilling, withoutBytes, whole, known}: Compared & {whole: boolean; known: boolean},
  salvaged: Salvaged | null,
  environment: Environment,
): Recovery | null {
  if (!previous && restored + refilling === 0 && !(fresh && known)) return null
  return {
    id: crypto.randomUUID(),
    cause: previous?.cause ?? (fresh ? 'emptied' : 'behind'),
    at: environment.now(),
    restored,
    refilling,
    lost: whole ? withoutBytes : null,
    sessions: sessions.map(session => (whole ? session : {...session, lost: null})),
    emptyTables: salvaged?.applicationTables ?? [],
    setAside: previous?.setAside ?? null,
    detail: previous?.detail ?? 'Events that had been acknowledged were missing in the database.',
  }
}

type Told = OutboxState['recovery']

/** Combines the last report, unless it is dismissed, with the new findings, unless they were reported before. */
export function nextReport(last: Told, found: Recovery | null): Recovery | null {
  const open = last && !last.dismissed ? last.recovery : null
  if (!found || (last && isKnown(last.recovery, found))) return open
  return open ? bothOf(open, found) : found
}

/** True if the only findings are entries that the last report already listed as still to be fetched from the server. */
function isKnown(last: Recovery, found: Recovery): boolean {
  if (found.cause !== 'behind' || found.restored > 0) return false
  const told = new Map(last.sessions.map(({session, refilling}) => [session, refilling]))
  return found.sessions.every(({session, refilling}) => refilling <= (told.get(session) ?? 0))
}

function bothOf(last: Recovery, found: Recovery): Recovery {
  const sum = (a: number | null, b: number | null) => (a === null || b === null ? null : a + b)
  const again = new Set(found.sessions.map(({session}) => session))
  return {
    ...found,
    restored: last.restored + found.restored,
    lost: sum(last.lost, found.lost),
    sessions: [...last.sessions.filter(({session}) => !again.has(session)), ...found.sessions],
    emptyTables: [...new Set([...last.emptyTables, ...found.emptyTables])],
    setAside: found.setAside ?? last.setAside,
    detail: shortened(`${last.detail} ${found.detail}`, 1999),
  }
}
