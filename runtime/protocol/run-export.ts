import * as z from 'zod'
import {type Envelope, type LoggedEvent, loggedEnvelopeSchema, readLoggedEvent} from './event.ts'
import {evolve} from './evolve.ts'
import {expectationOf} from './expectation.ts'
import {type RunId, runIdSchema, sessionIdSchema} from './ids.ts'
import {type Json, jsonObjectSchema, sameJson} from './json.ts'
import {type LocalRecords, overPassport, overReasons, type Passport, passportOf} from './passport.ts'
import {approvalRecordSchema, operationRecordSchema, recordsOf, stepUsageSchema} from './run-records.ts'
import {initialSession, isFenced, type SessionState} from './session.ts'
import {manifestsAmong, shownEvents} from './shown-events.ts'

const count = z.number().nonnegative()

/** One call of the server's gateway for the run: also those that failed, were lost or nobody read. */
const gatewayCallSchema = z.strictObject({
  key: z.string(),
  model: z.string(),
  status: z.enum(['open', 'done', 'failed', 'aborted', 'lost']),
  inputTokens: count,
  outputTokens: count,
  costMicros: count,
  estimated: z.boolean(),
  startedAt: z.number(),
  endedAt: z.number().nullable(),
})

/**
 * A run as one file [OBS-2]: every event of its session up to its end, so that nothing needs to be taken on trust, and
 * what follows from them. Whoever reads it can fold the events anew and compare: `checkRunExport` does.
 */
export const runExportSchema = z.strictObject({
  format: z.literal('holdfast-run'),
  version: z.literal(1),
  /** Who wrote the file: a device also has what the server does not have yet, or refused. */
  from: z.enum(['server', 'device']),
  /** Milliseconds since 1970. */
  exportedAt: z.number(),
  session: sessionIdSchema,
  run: runIdSchema,
  /** In log order: confirmed ones, then those that only the device has. */
  events: z.array(loggedEnvelopeSchema),
  /** What the server refused and the device keeps, with its reasons. */
  rejected: z.array(z.strictObject({event: loggedEnvelopeSchema, reason: z.string()})),
  /** In a branch: the events of its ancestors that the run's model has seen. */
  inherited: z.array(loggedEnvelopeSchema),
  /** Why the run is not the latest of its session; null when it is. */
  over: z.enum(Object.keys(overReasons) as [keyof typeof overReasons]).nullable(),
  /** The answer of `passport`, as of this file. */
  passport: jsonObjectSchema,
  operations: z.array(operationRecordSchema),
  approvals: z.array(approvalRecordSchema),
  usage: z.strictObject({
    steps: z.array(stepUsageSchema),
    /** Null on a device, which does not know them. */
    calls: z.array(gatewayCallSchema).nullable(),
  }),
})
export type RunExport = z.infer<typeof runExportSchema>
export type GatewayCall = z.infer<typeof gatewayCallSchema>

/** Events of a session that one file takes; a run in a longer log is refused by name. */
export const exportedEvents = 20_000

export type RunSource = Pick<RunExport, 'from' | 'exportedAt' | 'run' | 'rejected' | 'inherited'> & {
  /** All events of the session in log order, or enough to see the next run start. */
  events: readonly LoggedEvent[]
  standing: LocalRecords['standing']
  calls: GatewayCall[] | null
  /** Last event that the server has confirmed. */
  head: number
}

/** Null when the run is not among the events. */
export function buildRunExport(source: RunSource): RunExport | null {
  const {run, rejected, standing, head} = source
  const setAside = rejected.some(({event}) => event.kind === 'run.started' && event.run === run)
  const own = eventsOf(source.events, run)
  const state = foldOf(own.events, setAside)
  if (state.run?.id !== run || !state.session) return null
  const over = setAside ? 'set_aside' : own.superseded ? 'superseded' : null
  const local = {
    pending: own.events.flatMap(({id, seq}) => (seq === null && !isRejected(rejected, id) ? [id] : [])),
    rejected: rejected.map(({event, reason}) => ({event: event.id, kind: event.kind, reason})),
    ...(standing && {standing}),
  }
  const passport = passportAs(state, local, head, over)
  const {operations, approvals, steps} = recordsOf(own.events, run)
  return {
    format: 'holdfast-run',
    version: 1,
    from: source.from,
    exportedAt: source.exportedAt,
    session: state.session,
    run,
    events: own.events.map(asWritten),
    rejected,
    inherited: source.inherited,
    over,
    passport: passport as unknown as RunExport['passport'],
    operations,
    approvals,
    usage: {steps, calls: source.calls},
  }
}

function isRejected(rejected: RunExport['rejected'], id: string): boolean {
  return rejected.some(({event}) => event.id === id)
}

/** Up to where another run took the session over. */
function eventsOf(events: readonly LoggedEvent[], run: RunId): {events: LoggedEvent[]; superseded: boolean} {
  const start = events.findIndex(event => event.kind === 'run.started' && event.run === run)
  const next = events.findIndex((event, i) => i > start && event.kind === 'run.started')
  return start < 0 || next < 0
    ? {events: [...events], superseded: false}
    : {events: events.slice(0, next), superseded: true}
}

function foldOf(events: readonly LoggedEvent[], setAside: boolean): SessionState {
  return events.reduce(
    (state, event) => (event.seq === null && !setAside && isFenced(state, event) ? state : evolve(state, event)),
    initialSession,
  )
}

function passportAs(state: SessionState, local: LocalRecords, head: number, over: RunExport['over']): Passport | null {
  const passport = passportOf(state, local, head)
  return passport && over ? overPassport(passport, over) : passport
}

/** That this build cannot read an event is its own remark, not part of the event. */
function asWritten(event: LoggedEvent): Envelope {
  const {unreadable: _, ...envelope} = event as Envelope & {unreadable?: string}
  return envelope
}

/**
 * Folds the events of a file anew and compares what the file says with what follows from them; the faults found, in
 * words, none for a file that holds together. Never throws, whatever it is given.
 *
 * @example
 * const {faults} = checkRunExport(JSON.parse(await readFile('run.json', 'utf8')))
 * if (faults.length > 0) console.error(faults.join('\n'))
 */
export function checkRunExport(value: unknown): {faults: string[]; state: SessionState | null} {
  const parsed = runExportSchema.safeParse(value)
  if (!parsed.success) {
    const faults = parsed.error.issues.map(issue => {
      const {path, expected} = expectationOf(issue, value)
      return `${path.map(String).join('.') || 'file'}: ${expected}`
    })
    return {faults, state: null}
  }
  try {
    return check(parsed.data)
  } catch (error) {
    return {faults: [`events: ${error instanceof Error ? error.message : String(error)}`], state: null}
  }
}

function check(file: RunExport): {faults: string[]; state: SessionState | null} {
  const events = file.events.map(readLoggedEvent)
  const passport = file.passport as unknown as Passport
  const again = buildRunExport({
    ...file,
    events,
    standing: passport.branch?.standing,
    calls: file.usage.calls,
    head: passport.lastConfirmed,
  })
  if (!again) return {faults: [`run: ${file.run} is not among the events`], state: null}
  const parts = ['session', 'passport', 'operations', 'approvals', 'usage'] as const
  // A later run is no longer in the file, so that there was one is the file's own word.
  const rebuilt = {...again, passport: file.over ? overPassport(again.passport as never, file.over) : again.passport}
  const differing = parts.filter(part => !sameJson(plain(file[part]), plain(rebuilt[part])))
  return {
    faults: [
      ...orderFaults(file),
      ...referenceFaults(file, events),
      ...differing.map(part => `${part}: is not what follows from the events`),
    ],
    state: foldOf(events, file.over === 'set_aside'),
  }
}

function plain(value: unknown): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

function orderFaults({events, session}: RunExport): string[] {
  const confirmed = events.flatMap(({seq}) => (seq === null ? [] : [seq]))
  const gap = confirmed.findIndex((seq, i) => seq !== i + 1)
  const ids = new Set(events.map(({id}) => id))
  const strange = events.find(event => event.session !== session)
  return [
    ...(gap >= 0 ? [`events: expected seq ${gap + 1}, got ${confirmed[gap]}`] : []),
    ...(ids.size < events.length ? ['events: one id stands for two events'] : []),
    ...(strange ? [`events: ${strange.id} belongs to another session`] : []),
  ]
}

/** What the run's steps name must be there: else the prompts could not be rebuilt, nor the calls told. [VIEW-2, LOG-7] */
function referenceFaults({run, inherited, events: own}: RunExport, events: readonly LoggedEvent[]): string[] {
  const here = new Set([...own, ...inherited].map(({id}) => id))
  const manifestOf = manifestsAmong(events)
  const open = new Set<string>()
  const faults: string[] = []
  for (const event of events) {
    if (event.run !== run || 'unreadable' in event) continue
    if (event.kind === 'step.prepared') {
      const {manifest} = event.data
      const shown = shownEvents(manifest, manifestOf)
      if (!shown) faults.push(`events: step ${event.step} goes on from ${manifest.continues?.step}, which is not here`)
      const lacking = (shown ?? manifest.events).filter(id => !here.has(id))
      faults.push(...lacking.map(id => `events: step ${event.step} was shown ${id}, which is not here`))
      faults.push(...[...open].map(call => `events: call ${call} has no result before the next step`))
    }
    if (event.kind === 'model.replied') {
      for (const part of event.data.content) if (part.type === 'call') open.add(part.call)
    }
    if (event.kind === 'tool.returned' && !open.delete(event.data.call)) {
      faults.push(`events: call ${event.data.call} has a result that it did not wait for`)
    }
  }
  return faults
}

/** The events that the run's steps were shown and that are not the session's own. */
export function inheritedIds(events: readonly LoggedEvent[], run: RunId): Set<string> {
  const own = new Set<string>(events.map(({id}) => id))
  const manifestOf = manifestsAmong(events)
  const shown = events.flatMap(event => {
    if (event.kind !== 'step.prepared' || 'unreadable' in event || event.run !== run) return []
    return shownEvents(event.data.manifest, manifestOf) ?? event.data.manifest.events
  })
  return new Set(shown.filter(id => !own.has(id)))
}
