import type {Environment} from '../../runtime/protocol/environment.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import {type Envelope, type LoggedEvent, readLoggedEvent} from '../../runtime/protocol/event.ts'
import {type RunId, runIdSchema, type SessionId} from '../../runtime/protocol/ids.ts'
import {
  buildRunExport,
  exportedEvents,
  type GatewayCall,
  inheritedIds,
  runExportSchema,
} from '../../runtime/protocol/run-export.ts'
import type {Owner} from '../principal.ts'
import {effectsAfter} from '../standing.ts'
import type {SessionStore, Store} from '../storage/store.ts'
import type {ModelCallRow} from '../storage/token-store.ts'
import type {App} from './http.ts'
import {handle, route} from './route.ts'

const exportOne = route({
  name: 'exportRun',
  method: 'GET',
  path: '/v1/runs/:run/export',
  summary: 'The run as one file that holds everything it follows from.',
  params: {run: runIdSchema},
  answers: {200: runExportSchema},
  errors: ['not_found', 'too_large'],
})

/** Registers the export of a run as one file, for callers who may read its passport. [OBS-2] */
export function runExportRoutes(app: App, store: Store, environment: Environment): void {
  handle(app, exportOne, async ({params: {run}, principal}, c) => {
    const file = await exportRun(store, principal, run, environment.now())
    if (!file) throw new HoldfastError('not_found', 'No such run.')
    c.header('content-disposition', `attachment; filename="${run}.json"`)
    return file
  })
}

async function exportRun(store: Store, owner: Owner, run: RunId, exportedAt: number) {
  const {sessions, modelCalls} = store
  const session = await sessions.sessionOfRun(owner, run)
  const log = session && (await logUntilOver(sessions, owner, session, run))
  const state = session && (await sessions.state(owner, session))
  if (!log || !state) return null
  const from = state.forkedFrom
  return buildRunExport({
    from: 'server',
    exportedAt,
    run,
    events: log.events,
    rejected: [],
    inherited: from ? await inherited(sessions, owner, from, inheritedIds(log.events, run)) : [],
    standing: from ? ((await effectsAfter(sessions, owner, from)) ?? undefined) : undefined,
    calls: (await modelCalls.ofRun(owner, run)).map(gatewayCall),
    head: log.head,
  })
}

/** Reads the log of the session up to the first event of the next run. */
async function logUntilOver(sessions: SessionStore, owner: Owner, session: SessionId, run: RunId) {
  const events: LoggedEvent[] = []
  let started = false
  for (;;) {
    const page = await sessions.page(owner, session, events.at(-1)?.seq ?? 0)
    if (!page) return null
    for (const envelope of page.events) {
      const event = readLoggedEvent(envelope)
      events.push(event)
      if (event.kind !== 'run.started') continue
      if (started) return {events, head: page.head}
      started = event.run === run
    }
    // The file contains events that committed after the head was read, so take the head from the last event.
    if (page.events.length === 0) return {events, head: events.at(-1)?.seq ?? 0}
    if (events.length > exportedEvents) throw tooLong()
  }
}

/** Reads from the ancestors, nearest first, the events that the steps of the branch were shown. */
async function inherited(
  sessions: SessionStore,
  owner: Owner,
  from: {session: SessionId; seq: number},
  wanted: Set<string>,
): Promise<Envelope[]> {
  const found: Envelope[] = []
  let at: typeof from | null = from
  while (at && found.length < wanted.size) {
    const {session, seq}: typeof from = at
    for (let after = 0; ; ) {
      const page = await sessions.page(owner, session, after)
      const events = page?.events.filter(event => (event.seq ?? 0) <= seq) ?? []
      found.push(...events.filter(({id}) => wanted.has(id)))
      if (events.length === 0) break
      after = events.at(-1)?.seq ?? seq
    }
    at = (await sessions.state(owner, session))?.forkedFrom ?? null
  }
  return found
}

function tooLong(): HoldfastError {
  return new HoldfastError('too_large', `The log up to the end of this run has over ${exportedEvents} events.`, {
    details: {limit: exportedEvents},
  })
}

function gatewayCall({key, model, status, spent, startedAt, endedAt}: ModelCallRow): GatewayCall {
  return {key, model, status, ...spent, startedAt, endedAt}
}
