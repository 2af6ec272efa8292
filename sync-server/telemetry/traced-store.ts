import {SpanKind} from '@opentelemetry/api'
import type {Event} from '../../runtime/protocol/event.ts'
import type {Log} from '../../runtime/protocol/log-line.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {sessionFields} from '../../runtime/protocol/telemetry.ts'
import type {LockedSession, SealedEvent, SessionKey, SessionStore, Store} from '../storage/store.ts'
import type {TaskBook} from '../storage/task-book.ts'
import {boundedLabels, other} from './closed-labels.ts'
import type {Meters} from './meters.ts'
import {inSpan} from './spans.ts'
import {tellAudit, tellEvent} from './told-events.ts'

/** Wraps a store: adds a span per session transaction, and counts and logs the committed events. [OBS-1] */
export function tracedStore(store: Store, meters: Meters, log: Log, tools: readonly string[] = []): Store {
  const labels = {...boundedLabels(), tool: (tool: string) => (tools.includes(tool) ? tool : other)}
  return {
    ...store,
    sessions: {...store.sessions, locked: tracedLock(store, {meters, labels, log})},
    audit: {
      ...store.audit,
      record: async entry => {
        await store.audit.record(entry)
        tellAudit(log, entry)
      },
    },
  }
}

type Appended = {sealed: readonly SealedEvent[]; before: SessionState; state: SessionState}

type Labelling = ReturnType<typeof boundedLabels> & {tool(tool: string): string}
type Telling = {meters: Meters; labels: Labelling; log: Log}

function tracedLock({sessions, tasks}: Store, telling: Telling): SessionStore['locked'] {
  return (key, work) =>
    inSpan(
      'holdfast.session',
      SpanKind.INTERNAL,
      () => whose(key),
      async span => {
        let appended: Appended | null = null
        const result = await sessions.locked(key, locked => {
          if (span.isRecording()) span.setAttributes(sessionFields(key.tenant, locked.state))
          return work(watched(locked, sealed => (appended = sealed)))
        })
        // After the commit only: until then the transaction could roll back.
        const kept = appended as Appended | null
        if (kept && span.isRecording()) {
          span.setAttributes({...sessionFields(key.tenant, kept.state), 'holdfast.events': kept.sealed.length})
        }
        for (const {event} of kept?.sealed ?? []) {
          count(telling, key, event, kept?.state)
          await countEnd(telling, tasks, key, event, kept?.state)
          if (kept) tellEvent(telling.log, key, event, {before: kept.before, after: kept.state})
        }
        return result
      },
    )
}

function whose({tenant, session}: SessionKey) {
  return {'holdfast.tenant': tenant, 'holdfast.session_id': session, 'gen_ai.conversation.id': session}
}

function watched(locked: LockedSession, tell: (appended: Appended) => void): LockedSession {
  return {
    ...locked,
    append: async (sealed, commit) => {
      await locked.append(sealed, commit)
      tell({sealed, before: locked.state, state: commit.state})
    },
  }
}

function count({meters, labels}: Telling, key: SessionKey, event: Event, state: SessionState | undefined): void {
  const tenant = labels.tenant(key.tenant)
  meters.add('holdfast.events', {tenant, kind: event.kind})
  const outcome = endOf(event)
  const agent = labels.agent(key.tenant, state?.run?.pin.agent ?? '')
  if (outcome) meters.add('holdfast.runs.ended', {tenant, agent, outcome})
  const [what, status] = event.kind.split('.')
  if ((what !== 'operation' && what !== 'approval') || !('operation' in event.data)) return
  const {operation} = event.data
  const tool = labels.tool(state?.operations.find(({id}) => id === operation)?.tool ?? '')
  meters.add('holdfast.operations', {tenant, tool, status: `${what}.${status}`})
}

/**
 * Records the duration of a run and whether it recovered, once per run. A run whose row cannot be read is not
 * counted. [OBS-3]
 */
async function countEnd(
  {meters, labels: bounded}: Telling,
  tasks: TaskBook,
  {tenant}: SessionKey,
  event: Event,
  state: SessionState | undefined,
): Promise<void> {
  const outcome = endOf(event)
  if (!outcome || !event.run) return
  const task = await tasks.of({tenant, run: event.run}).catch(() => null)
  const labels = {tenant: bounded.tenant(tenant), agent: bounded.agent(tenant, state?.run?.pin.agent ?? '')}
  if (task?.durationMs != null) meters.record('holdfast.run.duration', {...labels, outcome}, task.durationMs / 1000)
  if (!task?.metTrouble || outcome === 'failed_retryable') return
  meters.add('holdfast.runs.troubled', labels)
  if (outcome === 'finished') meters.add('holdfast.runs.recovered', labels)
}

function endOf(event: Event): string | null {
  switch (event.kind) {
    case 'run.completed':
      return event.data.outcome
    case 'run.cancelled':
      return 'cancelled'
    case 'run.failed':
      return event.data.retryable ? 'failed_retryable' : 'failed_final'
    default:
      return null
  }
}
