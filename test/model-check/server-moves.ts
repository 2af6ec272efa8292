import type {Event, ServerKind} from '../../runtime/protocol/event.ts'
import type {ApprovalId, EventId, OperationId, RunId, SubjectId} from '../../runtime/protocol/ids.ts'
import type {OperationState} from '../../runtime/protocol/operation.ts'
import type {EventVerdict, PushAnswer} from '../../runtime/protocol/wire.ts'
import type {ServiceDraft} from '../../sync-server/authority/append-batch.ts'
import {remember} from '../../sync-server/authority/judge-event.ts'
import {screenFault} from '../../sync-server/authority/screen-event.ts'
import type {Principal} from '../../sync-server/principal.ts'
import {callsIn, deviceSeqKey, type Known} from '../../sync-server/storage/store.ts'
import type {Rules} from './rules.ts'
import {Violation} from './violation.ts'
import {deviceIds, type Server, session, type Who, type World} from './world.ts'

const principal = {tenant: 'acme', subject: 'maya', roles: []} as unknown as Principal
export const digest = 'd'
const approver = 'theo' as SubjectId

export function approvalOf(operation: OperationId): ApprovalId {
  return `apr-${operation}` as ApprovalId
}

/** Admission as the server performs it: screen, judge, number, write the consequences, answer for each event. */
export function admit(rules: Rules, server: Server, batch: readonly Event[]): {server: Server; answer: PushAnswer} {
  const known = knownOf(server, batch)
  const verdicts: EventVerdict[] = []
  let now = server
  for (const event of batch) {
    if (screenFault(event, principal, session, event.device)) throw new Violation('lost', `${event.id} is screened out`)
    const judgement = rules.judgeEvent(now.state, known, {event, hash: event.id, fault: null})
    if ('verdict' in judgement) {
      verdicts.push(judgement.verdict)
      continue
    }
    now = accept(rules, now, event)
    remember(known, event, now.state.head, event.id)
    verdicts.push({status: 'accepted', id: event.id, seq: now.state.head})
    for (const {kind, run, data} of judgement.consequences) now = serve(rules, now, {kind, run, data})
  }
  return {server: now, answer: {verdicts, head: now.state.head}}
}

/** As the store answers it: only of the identities that these events would take. */
function knownOf({log}: Server, batch: readonly Event[]): Known {
  const ids = new Set(batch.map(event => event.id))
  const stored = log.filter(event => ids.has(event.id))
  const named = log.filter(event => event.kind === 'run.started' || event.kind === 'operation.proposed')
  return {
    events: new Map(stored.map(event => [event.id, {session, seq: event.seq, hash: event.id}])),
    setBack: new Set(),
    deviceSeqs: new Map(stored.map(event => [deviceSeqKey(event.device, event.deviceSeq), event.id])),
    runs: new Set(named.flatMap(event => (event.kind === 'run.started' && event.run ? event.run : []))),
    calls: new Set(log.flatMap(callsIn)),
    operations: new Set(named.flatMap(event => (event.kind === 'operation.proposed' ? event.data.operation : []))),
  }
}

function accept(rules: Rules, server: Server, event: Event): Server {
  const numbered = rules.numbered(event, server.state.head + 1)
  const history = rules.observe(server.history, numbered)
  return {...server, state: rules.evolve(server.state, numbered), log: [...server.log, numbered], history}
}

function serve(rules: Rules, server: Server, draft: ServiceDraft): Server {
  return accept(rules, server, serverEvent(server, draft))
}

function serverEvent(server: Server, draft: ServiceDraft): Event {
  return {
    id: `S${server.state.head + 1}` as EventId,
    session,
    seq: null,
    device: null,
    deviceSeq: null,
    actor: {type: 'service', name: 'control'},
    at: 0,
    v: 1,
    ...draft,
  } as Event
}

/** One event of a service, if the state under the lock allows it; null when it is refused. */
export function speak(rules: Rules, server: Server, draft: ServiceDraft): Server | null {
  const event = serverEvent(server, draft)
  return rules.decide(server.state, event).refusal ? null : accept(rules, server, event)
}

export function claim(rules: Rules, server: Server, from: Who, sawEpoch: number): Server {
  const {grant} = rules.judgeClaim(server.state.custody, {device: deviceIds[from], sawEpoch})
  return grant ? serve(rules, server, {kind: 'custody.granted', data: grant}) : server
}

/** `null` when the state refuses it. */
export type Choice = {name: string; next: () => Server | null}

/** All that the server may do next by itself about one operation. */
export function drive(rules: Rules, {server, left}: World, operation: OperationState, policies: readonly string[]) {
  const {id} = operation
  const choice = (name: string, draft: ServiceDraft, change: Partial<Server> = {}): Choice => {
    const next = () => {
      const after = speak(rules, server, {run: operation.run, ...draft})
      return after && {...after, ...change}
    }
    return {name: `server: ${name} ${id}`, next}
  }
  const over = {calling: server.calling === id ? null : server.calling}
  const executed = choice('executed', {kind: 'operation.executed', data: {operation: id, receipt: 'r'}}, over)
  const failed = choice('failed', {kind: 'operation.failed', data: {operation: id, reason: 'f'}}, over)
  const doubt = choice('uncertain', {kind: 'operation.uncertain', data: {operation: id, reason: 'u'}}, over)
  if (server.calling === id) return [executed, failed, ...(left.serverCrashes > 0 ? [doubt] : [])]
  switch (rules.moveFor(operation.status)) {
    case 'authorise':
      return policies.map(policy => choice(policy, authorisation(id, policy)))
    case 'execute':
      if (server.calling) return []
      if (rules.isStale(operation.basis, server.fact)) {
        return [choice('stale', {kind: 'operation.refused', data: {operation: id, code: 'stale', reason: 's'}})]
      }
      return [startOf(operation, server, choice)]
    case 'doubt':
      return [doubt]
    case 'reconcile':
      return [executed, failed]
    default:
      return []
  }
}

function startOf(
  {id, basis}: OperationState,
  {fact}: Server,
  choice: (name: string, draft: ServiceDraft, change: Partial<Server>) => Choice,
): Choice {
  const {name, next} = choice('start', {kind: 'operation.started', data: {operation: id, digest}}, {calling: id})
  const started = () => {
    const after = next()
    const rests = basis.order
    if (after && rests !== undefined && rests !== String(fact)) {
      throw new Violation('facts', `${id} starts on version ${rests} of a fact that is at ${fact}`)
    }
    return after
  }
  return {name, next: started}
}

/** An event that a newer build wrote: nobody here can read it. [LOG-4] */
export function writeUnreadable(rules: Rules, server: Server): Server {
  const event = {
    id: `N${server.state.head + 1}`,
    session,
    seq: null,
    device: null,
    deviceSeq: null,
    kind: 'mood.noted',
    data: {},
    actor: {type: 'person', subject: 'maya'},
    at: 0,
    v: 1,
    unreadable: 'kind "mood.noted" is not known to this version',
  }
  return accept(rules, server, event as unknown as Event)
}

function authorisation(operation: OperationId, policy: string): ServiceDraft {
  if (policy === 'deny') {
    return {kind: 'operation.refused', data: {operation, code: 'not_authorised', reason: 'no'}}
  }
  if (policy === 'allow') return {kind: 'operation.authorised', data: {operation, digest, reason: 'small'}}
  const shown = {tool: 'refundOrder', version: '1', input: null}
  const approval = approvalOf(operation)
  const asked = {approval, operation, digest, role: 'approver', reason: 'large', expiresAt: 1, shown}
  return {kind: 'approval.requested', data: asked}
}

export type Decision = Extract<ServerKind, 'approval.granted' | 'approval.rejected' | 'approval.expired'>

/** A decision that arrives, however late; after its time it only writes down that nobody decided. */
export function decideApproval(rules: Rules, server: Server, about: {id: OperationId; run: RunId}, decision: Decision) {
  const {id: operation, run} = about
  const approval = approvalOf(operation)
  const late = server.overdue.includes(approval)
  const said = {approval, operation, by: approver}
  if (late || decision === 'approval.expired') {
    return speak(rules, server, {kind: 'approval.expired', run, data: {approval, operation}})
  }
  return decision === 'approval.granted'
    ? speak(rules, server, {kind: 'approval.granted', run, data: {...said, digest}})
    : speak(rules, server, {kind: 'approval.rejected', run, data: said})
}
