import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {
  type DataOf,
  type Envelope,
  type Event,
  type EventOf,
  isServerKind,
  type Kind,
  readEvent,
} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {CallId, EventId} from '../../runtime/protocol/ids.ts'
import {type Pin, type ReplyPart, runPersonKinds} from '../../runtime/protocol/run.ts'
import {initialSession, type SessionState} from '../../runtime/protocol/session.ts'
import {pinWith} from './pin.ts'

export const pin: Pin = pinWith()
const runUsage = {steps: 1, calls: 3, inputTokens: 10, outputTokens: 5, unreported: 0, cost: null, wallMs: 0}
export const digest = 'd'.repeat(64)
const usage = {inputTokens: 10, outputTokens: 5}

/** One session, one run, three calls: enough names to write any event about, each of its own. */
export function cast() {
  return {
    session: env.id('session'),
    parent: env.id('session'),
    device: env.id('device'),
    other: env.id('device'),
    run: env.id('run'),
    step: env.id('step'),
    message: env.id('event'),
    read: env.id('call'),
    first: env.id('call'),
    second: env.id('call'),
    operation: env.id('operation'),
    approval: env.id('approval'),
    key: env.id('key'),
  }
}
export type Cast = ReturnType<typeof cast>

export function call(id: CallId, tool: string): Extract<ReplyPart, {type: 'call'}> {
  return {type: 'call', call: id, providerCall: `p-${id}`, tool, input: {orderId: 'A17', cents: 8900}}
}

export function manifest(answers: EventId[], events: EventId[] = answers) {
  return {events, answers, estimatedTokens: 1, promptHash: 'a'.repeat(64)}
}

/** Data of every kind, with every optional field given. */
export function dataOf(names: Cast): {[K in Kind]: DataOf<K>} {
  const {operation, approval, other, message} = names
  const by = 'theo' as DataOf<'approval.granted'>['by']
  const signed = {key: names.key, nonce: '0'.repeat(32), at: 1_790_000_000_000}
  const said = {approval, operation, by, delegatedBy: 'ines' as typeof by, note: 'fine', signed}
  return {
    'session.opened': {agent: 'desk', policy: 'steer', title: 'A17'},
    'session.forked': {
      agent: 'desk',
      policy: 'steer',
      title: 'A17',
      from: {session: names.parent, seq: 3},
      slots: {order: 'A17'},
    },
    'message.posted': {text: 'Order A17 arrived broken.'},
    'document.updated': {document: 'draft', update: 'AAA='},
    'custody.assumed': {epoch: 2, restsOn: 1},
    'run.started': {pin},
    'run.resumed': {from: {seq: 3, holder: names.device, epoch: 1}, changed: ['order/A17']},
    'step.prepared': {number: 1, manifest: manifest([message])},
    'model.replied': {
      content: [
        {type: 'text', text: 'Let me look.'},
        call(names.read, 'lookupOrder'),
        call(names.first, 'refundOrder'),
        call(names.second, 'refundOrder'),
      ],
      finish: 'tool-calls',
      usage,
    },
    'tool.called': {call: names.read},
    'tool.returned': {call: names.read, outcome: 'ok', output: {cents: 8900}, basis: {'order/A17': '1'}},
    'slots.patched': {patch: {order: 'A17', doubt: null}},
    'view.compacted': {
      from: message,
      to: message,
      previous: names.message,
      summary: 'A17 arrived broken.',
      by: 'model',
      tokens: 40,
      events: 2,
      usage,
      promptHash: digest,
    },
    'view.refused': {tokens: 900, limit: 800, counted: 1000, viewTokens: 600},
    'run.completed': {outcome: 'partial', bound: '3 steps', usage: runUsage},
    'run.failed': {code: 'model_failed', message: 'broke off', retryable: true},
    'run.alerted': {bound: '3 steps', usage: runUsage},
    'run.slept': {until: 2_000_000_000_000, why: 'The parcel arrives tomorrow.', cause: 'tool'},
    'run.woken': {by: 'time', note: 'early'},
    'run.extended': {},
    'run.migrated': {
      to: {version: '2.0.0', tools: pin.tools, toolsHash: 'c'.repeat(64), model: pin.model},
      checked: [{call: names.read, hash: pin.tools[0]!.hash}],
      reason: 'The old version is gone.',
    },
    'session.closed': {reason: 'done'},
    'run.cancelled': {reason: 'enough'},
    'run.retried': {},
    'operation.proposed': {
      operation,
      call: names.first,
      tool: 'refundOrder',
      version: '1',
      input: {orderId: 'A17', cents: 8900},
      basis: {'order/A17': '1'},
    },
    'operation.refused': {operation, code: 'stale', reason: 'changed'},
    'operation.authorised': {operation, digest, reason: 'small'},
    'operation.started': {operation, digest, amount: 8900, verdictRole: 'approver', answersBy: 1_790_000_030_000},
    'operation.executed': {operation, receipt: {paid: true}, settledBy: by},
    'operation.failed': {operation, reason: 'no funds', settledBy: by},
    'operation.uncertain': {operation, reason: 'no answer'},
    'operation.voided': {operation, reason: 'newer instruction', because: message},
    'approval.requested': {
      approval,
      operation,
      digest,
      role: 'approver',
      reason: 'over the limit',
      expiresAt: 2_000_000_000_000,
      shown: {tool: 'refundOrder', version: '1', input: {}},
      approvers: 1,
      requesterMayDecide: false,
      escalation: {role: 'head', at: 1_790_000_060_000},
    },
    'approval.endorsed': {...said, digest},
    'approval.granted': {...said, digest},
    'approval.rejected': {...said, note: 'no'},
    'approval.escalated': {approval, operation, role: 'head'},
    'approval.expired': {approval, operation},
    'custody.granted': {holder: other, epoch: 2, reason: 'requested'},
  }
}

type Extra = Partial<Omit<Envelope, 'kind' | 'data'>>

/** Writes events of one session as their authors would; order is that of the calls. */
export function scribe(names: Cast = cast()) {
  let deviceSeq = 0
  const data = dataOf(names)
  const person = {type: 'person', subject: 'maya'} as const
  const envelope = <K extends Kind>(kind: K, extra: Extra & {data?: DataOf<K>} = {}): Envelope => {
    const server = isServerKind(kind)
    const ofRun = !/^(session|message|document)\./.test(kind) && kind !== 'custody.assumed'
    const held = ofRun && !server && !Object.hasOwn(runPersonKinds, kind)
    const envelope = {
      id: env.id('event'),
      session: names.session,
      seq: null,
      device: server ? null : names.device,
      deviceSeq: server ? null : ++deviceSeq,
      kind,
      data: data[kind],
      actor: server ? {type: 'service', name: 'control'} : held ? {type: 'agent', name: 'desk'} : person,
      at: 1_790_000_000_000,
      v: 1,
      ...(ofRun && kind !== 'custody.granted' && {run: names.run}),
      ...(held && {step: names.step, attempt: 1, epoch: 1}),
      ...extra,
    }
    return envelope as unknown as Envelope
  }
  const event = <K extends Kind>(kind: K, extra: Extra & {data?: DataOf<K>} = {}): EventOf<K> =>
    readEvent(envelope(kind, extra)) as unknown as EventOf<K>
  return {names, data, envelope, event}
}
export type Scribe = ReturnType<typeof scribe>

export function fold(events: readonly Event[], from: SessionState = initialSession): SessionState {
  return events.reduce(evolve, from)
}

/** A run whose model has replied with one read call and two external ones. */
export function repliedEvents({event, names}: Scribe): Event[] {
  return [
    event('session.opened'),
    event('message.posted', {id: names.message}),
    event('run.started'),
    event('step.prepared'),
    event('model.replied'),
  ]
}

/** Numbers events as a server would. */
export function confirmed(events: readonly (Event | Envelope)[], after = 0): Envelope[] {
  return events.map((event, i) => ({...event, seq: after + i + 1}) as Envelope)
}
