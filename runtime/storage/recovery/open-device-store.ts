import type {Environment} from '../../protocol/environment.ts'
import type {EventId} from '../../protocol/ids.ts'
import type {Person} from '../../protocol/person.ts'
import type {Recovery, StorageKind} from '../../protocol/recovery.ts'
import type {DeviceStore, Projection} from '../device-store.ts'
import type {DeviceMemoryStore} from '../memory-store.ts'
import {guardMemory} from '../outbox/guard-memory.ts'
import {guardStore} from '../outbox/guard-store.ts'
import {Outbox} from '../outbox/outbox.ts'
import type {OutboxRecord} from '../outbox/outbox-record.ts'
import {emptyOutbox, type OutboxState} from '../outbox/outbox-state.ts'
import type {DeviceDatabase, Previous} from '../pglite/device-database.ts'
import {stopDatabase} from '../pglite/fail-stop.ts'
import {keepHouse} from '../pglite/housekeeping.ts'
import {pgliteMemory} from '../pglite-memory.ts'
import {openPGliteStore} from '../pglite-store.ts'
import {compareDatabase} from './compare-database.ts'
import {levelOutbox} from './level-outbox.ts'
import {nextReport, reportOf} from './recovery-report.ts'
import {requireOneOwner} from './require-one-owner.ts'
import {deviceRecord, restoreDevice, restoreMemory} from './restore-device.ts'
import {type Salvaged, salvage} from './salvage.ts'

/** The store of a device, and what was recovered when it was opened. */
export interface DeviceStorage {
  store: DeviceStore
  memory: DeviceMemoryStore
  kind: StorageKind
  /** The recovery report to show to the person, or null. [LOG-9] */
  recovery: Recovery | null
  /** Marks the report as read. */
  dismissRecovery(): Promise<void>
}

/**
 * Opens the store of a device. Restores acknowledged data that the database lacks, from the outbox and from the previous
 * database. From then on, unsent data is acknowledged only when the database and the outbox both have it. [LOG-9]
 *
 * @param expected the owner that the index of databases names; null if it names none
 * @throws HoldfastError `other_person` if the database, the outbox, the previous database or the index name different persons
 */
export async function openDeviceStore(
  database: DeviceDatabase,
  environment: Environment,
  projections: readonly Projection[],
  expected: Person | null = null,
): Promise<DeviceStorage> {
  const {db, storage: kind, previous} = database
  const inner = await openPGliteStore(db, environment)
  const memory = pgliteMemory(db)
  const owner = await inner.owner()
  if (!database.outbox) {
    requireOneOwner(database, {index: expected, database: owner, outbox: null, previous: null})
    return {store: inner, memory, kind, recovery: null, dismissRecovery: async () => undefined}
  }
  const outbox = new Outbox(database.outbox)
  const loaded = await outbox.load()
  const salvaged = previous && (await salvageFrom(previous))
  requireOneOwner(database, {
    index: expected,
    database: owner,
    outbox: loaded.state.device?.owner ?? null,
    previous: salvaged?.unsent.device?.owner ?? null,
  })
  const unsent = merged(loaded.state, salvaged?.unsent ?? emptyOutbox())
  await restoreDevice(db, unsent)
  const found = await compareDatabase(db, inner, {unsent, salvaged, projections})
  await restoreMemory(db, memory, unsent)
  const report = {...found, whole: loaded.whole || (salvaged?.whole ?? false), known: loaded.state.device !== null}
  const recovery = nextReport(loaded.state.recovery, reportOf(database, report, salvaged, environment))
  const device = () => deviceRecord(inner)
  await levelOutbox(outbox, inner, {
    state: loaded.state,
    whole: loaded.whole,
    stale: found.stale,
    recovery,
    memory,
    device,
  })
  await previous?.done()

  const write = (records: readonly OutboxRecord[], options: {flush: boolean}) =>
    outbox.write(records, options).catch(error => Promise.reject(stopDatabase(db, error)))
  const guard = {write, rewrite: () => outbox.rewrite(), holds: (id: EventId) => outbox.holds(id)}
  const guarded = guardStore(inner, guard, device)
  const house = keepHouse(db)
  return {
    store: {
      ...guarded,
      highWater: session => unsent.marks.get(session)?.head ?? 0,
      transaction: async work => {
        const result = await guarded.transaction(work)
        house.wrote()
        return result
      },
    },
    memory: guardMemory(memory, guard),
    kind,
    recovery,
    dismissRecovery: async () => {
      if (recovery) await write([{type: 'recovery', recovery, dismissed: true}], {flush: true})
    },
  }
}

async function salvageFrom(previous: Previous): Promise<Salvaged | null> {
  const old = await previous.open().catch(() => null)
  if (!old) return null
  try {
    return await salvage(old)
  } catch {
    return null
  } finally {
    await old.close().catch(() => undefined)
  }
}

/** Merges two outbox states. The outbox (`first`) wins: it was written last, and its records carry checksums. */
function merged(first: OutboxState, second: OutboxState): OutboxState {
  const both = <K, V>(a: Map<K, V>, b: Map<K, V>) => new Map([...b, ...a])
  return {
    device: first.device ?? second.device,
    events: both(first.events, second.events),
    blobs: both(first.blobs, second.blobs),
    resolutions: both(first.resolutions, second.resolutions),
    marks: both(first.marks, second.marks),
    changes: both(first.changes, second.changes),
    proposals: both(first.proposals, second.proposals),
    recovery: first.recovery,
  }
}
