import type {LanguageModelV3} from '@ai-sdk/provider'
import fc from 'fast-check'
import type {Delegation} from '../../../runtime/protocol/delegation.ts'
import type {ErasureReceipt} from '../../../runtime/protocol/erasure.ts'
import type {ApproverKey} from '../../../runtime/protocol/intent.ts'
import {serverEnvironment as env} from '../../../sync-server/environment.ts'
import {createSyncServer, type Sql, type Store} from '../../../sync-server/index.ts'
import {proposalOf} from '../../memory/support/teller.ts'
import {pinnedTool} from '../../support/pin.ts'
import {approverDevice} from './approver-device.ts'
import {call, trustingAuth, type Who} from './caller.ts'
import {underContract} from './contract.ts'
import {inbox} from './desk-server.ts'
import {testDevice} from './device.ts'
import type {Known} from './document-requests.ts'
import {refundDesk} from './refund-desk.ts'

const usage = {
  inputTokens: {total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0},
  outputTokens: {total: 1, text: 1, reasoning: 0},
}

/** Says one word to whoever asks. */
const model: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'scripted',
  modelId: 'one-word',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('not scripted')),
  doStream: async () => ({
    stream: new ReadableStream({
      start: controller => {
        controller.enqueue({type: 'text-start', id: 't'})
        controller.enqueue({type: 'text-delta', id: 't', delta: 'Hello'})
        controller.enqueue({type: 'text-end', id: 't'})
        controller.enqueue({type: 'finish', usage, finishReason: {unified: 'stop', raw: 'stop'}})
        controller.close()
      },
    }),
  }),
}

/** Holds every role, so that no request ends at its door. */
export const ana: Who = {
  tenant: 'acme',
  subject: 'ana',
  roles: ['lead', 'operator', 'auditor', 'publisher'],
  expiresAt: 4_000_000_000_000,
}

/** A server with a record of every kind, all of them Ana's, and the values by which a request finds them. */
export async function furnishedServer({sql, store}: {sql: Sql; store: Store}) {
  const desk = refundDesk(sql)
  await desk.prepare()
  const faults: unknown[] = []
  const open = (execute?: () => Promise<never>) =>
    underContract(
      createSyncServer({
        store,
        authenticate: trustingAuth,
        facts: desk.facts,
        operations: desk.operation({
          authorise: ({input}) =>
            input.cents > 5000
              ? {approval: {role: 'lead', reason: 'A large refund.', expiresInMs: 3_600_000}}
              : {allow: 'A small refund.'},
          verdictRole: 'lead',
          ...(execute && {execute, reconcile: async () => ({unknown: 'The bank is asleep.'})}),
        }),
        models: {desk: model},
        metrics: {authorise: () => true},
        limits: {
          sweepMs: 3_600_000,
          rates: {subject: {perSecond: 1e6, burst: 1e6}, tenant: {perSecond: 1e6, burst: 1e6}},
        },
        onFault: fault => faults.push(fault),
      }),
    )
  const server = open()
  await server.start()

  const device = testDevice(ana)
  const refund = device.refund({orderId: 'A1', cents: 6000})
  await device.push(server, [device.open(), ...refund.events])
  await server.idle()
  const item = (await inbox(server, ana)).find(({run}) => run === refund.run)

  const doubtful = open(() => Promise.reject(new Error('socket hang up')))
  const other = testDevice(ana)
  const small = other.refund({orderId: 'A2', cents: 5})
  await other.push(doubtful, [other.open(), ...small.events])
  await doubtful.idle()

  const gone = testDevice(ana)
  await gone.push(server, [gone.open()])
  const {body: receipt} = await call<ErasureReceipt>(server, ana, '/v1/erasures', {session: gone.session})
  const lent = {role: 'lead', to: 'max', until: Date.now() + 3_600_000}
  const {body: delegation} = await call<Delegation>(server, ana, '/v1/delegations', lent)
  const {publicKey} = await approverDevice()
  const {body: added} = await call<ApproverKey>(server, ana, '/v1/approver-keys', {publicKey, label: 'Phone'})
  const event = refund.events[0]?.id ?? env.id('event')
  const proposal = proposalOf({session: device.session, event})
  await call(server, ana, '/v1/memory/proposals', {proposals: [proposal]})
  const manifest = {version: '1', tools: [pinnedTool('refundOrder', 'external')], toolsHash: 'a'.repeat(64)}
  await call(server, ana, '/v1/agents/desk/versions', manifest)
  desk.setOrder(ana.tenant, 'A1', 'delivered', '1')

  const mostly = (name: string, ...values: (string | undefined)[]) => [name, fc.constantFrom(...values)] as const
  const known: Known = Object.fromEntries([
    mostly('SessionId', device.session, device.session, other.session, gone.session),
    mostly('RunId', refund.run, small.run),
    mostly('DeviceId', device.device, other.device),
    mostly('ApprovalId', item?.approval),
    mostly('OperationId', refund.operation, small.operation),
    mostly('Digest', item?.digest, '0'.repeat(64)),
    mostly('DelegationId', delegation.delegation),
    mostly('ApproverKeyId', added.key),
    mostly('MemoryId', proposal.id),
    mostly('ErasureId', receipt.erasure),
    mostly('SubjectId', 'ana', 'max'),
    mostly('FactKey', 'order/A1', 'order/none'),
    mostly('ModelName', 'desk'),
    mostly('.role', 'lead', 'lead', 'clerk'),
    mostly('.publicKey', publicKey, (await approverDevice()).publicKey),
    ['.until', fc.integer({min: 0, max: 3_600_000}).map(ms => Date.now() + ms)] as const,
    ['.sawEpoch', fc.integer({min: 0, max: 3})] as const,
    mostly('StepId', refund.step),
    mostly('CallId', refund.call),
    ['Actor', fc.constantFrom({type: 'person', subject: 'ana'}, {type: 'agent', name: 'desk'})] as const,
  ])
  return {server, known, faults, close: () => Promise.all([server.close(), doubtful.close()])}
}
