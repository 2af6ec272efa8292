import {systemEnvironment as env} from '../../runtime/platform/environment.ts'
import {type Envelope, readEvent} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {SessionId} from '../../runtime/protocol/ids.ts'
import {initialSession} from '../../runtime/protocol/session.ts'
import type {DeviceStore} from '../../runtime/storage/device-store.ts'

/** Stores a session of many confirmed events, messages and replies in turn, as a pull would have left it. */
export async function fillSession(store: DeviceStore, id: SessionId, count: number, lastReply = 0): Promise<void> {
  let state = initialSession
  const run = env.id('run')
  const device = (await store.device()).id
  const base = (seq: number) => ({
    id: env.id('event'),
    session: id,
    seq,
    device,
    deviceSeq: seq,
    at: seq,
    v: 1,
  })
  const person = {type: 'person', subject: 'bench'}
  const agent = {type: 'agent', name: 'desk'}
  const eventAt = (seq: number) => {
    if (seq === 1) return {...base(seq), actor: person, kind: 'session.opened', data: {agent: 'desk', policy: 'steer'}}
    if (seq % 2 === 0)
      return {...base(seq), actor: person, kind: 'message.posted', data: {text: `Message ${seq}. `.repeat(20)}}
    const data = {
      content: [{type: 'text', text: `Reply ${seq}. `.repeat(seq === count && lastReply > 0 ? lastReply : 20)}],
      finish: 'stop',
      usage: {inputTokens: 10, outputTokens: 10},
    }
    return {...base(seq), actor: agent, run, attempt: 1, epoch: 1, kind: 'model.replied', data}
  }
  for (let from = 1; from <= count; from += 1000) {
    const events = Array.from({length: Math.min(1000, count - from + 1)}, (_, i) =>
      readEvent(eventAt(from + i) as Envelope),
    )
    state = events.reduce(evolve, state)
    // Filling only: the messages count as answered, as they would be in a session of this length.
    state = {...state, unanswered: []}
    await store.transaction(async unit => {
      await unit.confirm(events)
      await unit.save({id, confirmed: state, current: state, deviceSeq: count, excerpt: '', updatedAt: 0})
    })
  }
}
