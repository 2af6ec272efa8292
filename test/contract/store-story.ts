import type {BlobRef} from '../../runtime/protocol/blob.ts'
import type {DataOf, Event, Kind} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import {serverEnvironment as env} from '../../sync-server/environment.ts'
import type {SealedEvent} from '../../sync-server/storage/store.ts'
import {pinWith} from '../support/pin.ts'

/** Events of one session as a store gets them: already decided on, not yet numbered. */
export function storyOf(session: SessionId) {
  const device = env.id('device')
  const run = env.id('run')
  const operation = env.id('operation')
  const approval = env.id('approval')
  const call = env.id('call')
  const digest = 'a'.repeat(64)
  let deviceSeq = 0

  const event = <K extends Kind>(kind: K, data: DataOf<K>, over: Partial<Event> = {}) =>
    ({
      id: env.id('event'),
      session,
      seq: null,
      device,
      deviceSeq: ++deviceSeq,
      kind,
      data,
      actor: {type: 'agent', name: 'desk'},
      at: 1,
      v: 1,
      ...over,
    }) as Event
  const serverSide = {device: null, deviceSeq: null, run}
  const post = () => event('message.posted', {text: 'Hello\0\ud800'})
  const pin = pinWith({tools: []})
  const proposal = {operation, call, tool: 'refundOrder', version: '1', input: {cents: 5}, basis: {}}

  return {
    run,
    operation,
    approval,
    digest,
    post,
    opened: (posts = 0) => [
      event('session.opened', {agent: 'desk', policy: 'steer'}),
      ...Array.from({length: posts}, post),
    ],
    refund: () => [event('run.started', {pin}, {run}), event('operation.proposed', proposal, {run})],
    requested: (expiresAt: number) => {
      const shown = {tool: 'refundOrder', version: '1', input: {cents: 5}}
      const data = {approval, operation, digest, role: 'lead', reason: 'Large.', expiresAt, shown}
      return event('approval.requested', data, serverSide)
    },
    returned: (blobs: BlobRef[]) => event('tool.returned', {call, outcome: 'ok', output: null, blobs}, {run}),
    voided: () => event('operation.voided', {operation, reason: 'Changed.'}, serverSide),
  }
}

export async function sealedBatch(
  start: SessionState,
  events: Event[],
): Promise<{sealed: SealedEvent[]; state: SessionState}> {
  let state = start
  const sealed = events.map(event => {
    const numbered = {...event, seq: state.head + 1}
    state = evolve(state, numbered)
    return {event: numbered, hash: `hash of ${event.id}`}
  })
  return {sealed, state}
}
