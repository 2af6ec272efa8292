import type {DataOf, DeviceKind, Envelope} from '../../../runtime/protocol/event.ts'
import type {CallId, EventId, OperationId, RunId, SessionId, StepId} from '../../../runtime/protocol/ids.ts'
import type {Json} from '../../../runtime/protocol/json.ts'
import type {Basis} from '../../../runtime/protocol/tool.ts'
import type {PushAnswer} from '../../../runtime/protocol/wire.ts'
import {serverEnvironment as env} from '../../../sync-server/environment.ts'
import {pinnedTool, pinWith} from '../../support/pin.ts'
import {call, type Served, type Who} from './caller.ts'

type Extra = Partial<Pick<Envelope, 'run' | 'step' | 'attempt' | 'epoch' | 'actor' | 'id' | 'deviceSeq' | 'device'>>

export const pin = pinWith({tools: [pinnedTool('refundOrder', 'external')], budgets: {maxSteps: 10}})

/** A device as its server sees it: makes events in its own order and pushes them; sends nothing by itself. */
export function testDevice(who: Who, session: SessionId = env.id('session'), epoch = 1) {
  const device = env.id('device')
  let deviceSeq = 0

  const event = <K extends DeviceKind>(kind: K, data: DataOf<K>, extra: Extra = {}): Envelope => {
    let own: number | null = null
    return {
      id: env.id('event'),
      session,
      seq: null,
      device,
      /** Counted when it is first sent, so that a story may be made in any order. */
      get deviceSeq() {
        own ??= ++deviceSeq
        return own
      },
      kind,
      data: data as Envelope['data'],
      actor: {type: 'person', subject: who.subject as never},
      at: Date.now(),
      v: 1,
      ...extra,
    }
  }
  const held = (run: RunId, extra: Extra = {}): Extra => ({
    run,
    attempt: 1,
    epoch,
    actor: {type: 'agent', name: 'desk'},
    ...extra,
  })

  return {
    who,
    session,
    device,
    event,
    held,
    open: () => event('session.opened', {agent: 'desk', policy: 'steer'}),
    post: (text: string) => event('message.posted', {text}),
    /** A run up to an open call of `refundOrder`, and the proposal of the operation for it. */
    refund: (input: Json, options: {basis?: Basis; answers?: EventId[]; tool?: string; version?: string} = {}) => {
      const run = env.id('run')
      const step: StepId = env.id('step')
      const calls: CallId = env.id('call')
      const operation: OperationId = env.id('operation')
      const tool = options.tool ?? 'refundOrder'
      const part = {type: 'call' as const, call: calls, providerCall: 'p1', tool, input}
      const manifest = {events: [], answers: options.answers ?? [], estimatedTokens: 1, promptHash: '0'.repeat(64)}
      const usage = {inputTokens: 1, outputTokens: 1}
      const version = options.version ?? '1'
      const events = [
        event('run.started', {pin: {...pin, tools: [pinnedTool(tool, 'external', version)]}}, held(run)),
        event('step.prepared', {number: 1, manifest}, held(run, {step})),
        event('model.replied', {content: [part], finish: 'tool-calls', usage}, held(run, {step})),
        event(
          'operation.proposed',
          {operation, call: calls, tool, version, input, basis: options.basis ?? {}},
          held(run, {step}),
        ),
      ]
      return {run, step, call: calls, operation, events}
    },
    push: async (served: Served, events: unknown[]): Promise<PushAnswer> => {
      const answer = await call<PushAnswer>(served, who, `/v1/sessions/${session}/events`, {events})
      if (answer.status !== 200) throw new Error(`push answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      return answer.body
    },
  }
}
export type TestDevice = ReturnType<typeof testDevice>
