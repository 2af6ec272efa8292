import {HoldfastError} from '../protocol/errors.ts'
import type {Envelope, LoggedEvent} from '../protocol/event.ts'
import type {EventId, RunId} from '../protocol/ids.ts'
import {buildRunExport, exportedEvents, inheritedIds, type RunExport} from '../protocol/run-export.ts'
import type {DeviceStore} from '../storage/device-store.ts'
import {effectsAfter} from './standing.ts'

/** The run as this device has it, with what the server does not have yet or refused. [OBS-2] */
export async function exportRun(store: DeviceStore, run: RunId, exportedAt: number): Promise<RunExport | null> {
  const session = await store.sessionOfRun(run)
  const record = session && (await store.session(session))
  if (!session || !record) return null
  const log = await store.own(session, null)
  if (log.length > exportedEvents) {
    throw new HoldfastError('too_large', `The log of this session has over ${exportedEvents} events.`, {
      details: {limit: exportedEvents},
    })
  }
  const rejected = log.flatMap(({event, durability}) =>
    durability.status === 'rejected' ? [{event: written(event), reason: durability.reason}] : [],
  )
  // All events of a run that was set aside are refused, so they are included here.
  const events = log.flatMap(({event, durability}) =>
    durability.status !== 'rejected' || event.run === run ? [event] : [],
  )
  const from = record.current.forkedFrom
  const shown = [...inheritedIds(events, run)] as EventId[]
  return buildRunExport({
    from: 'device',
    exportedAt,
    run,
    events,
    rejected,
    inherited: (await store.byIds(shown)).map(written),
    standing: from ? await effectsAfter(store, from.session, from.seq) : undefined,
    calls: null,
    head: record.confirmed.head,
  })
}

function written(event: LoggedEvent): Envelope {
  const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
  return envelope
}
