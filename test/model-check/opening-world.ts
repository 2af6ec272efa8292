import type {SessionId} from '../../runtime/protocol/ids.ts'
import {initialSession} from '../../runtime/protocol/session.ts'
import {post, say} from './device-moves.ts'
import {noHistory} from './history.ts'
import type {Rules} from './rules.ts'
import {type Device, deviceIds, type Scenario, type World} from './world.ts'

/** Device A has opened a session and said something; nobody else knows of it yet. */
export function openingWorld(rules: Rules, scenario: Scenario): World {
  const [a, b] = deviceIds
  const world: World = {
    devices: [emptyDevice(a), emptyDevice(b)],
    server: {state: initialSession, log: [], calling: null, fact: 1, overdue: [], history: noHistory},
    wire: [],
    left: scenario.left,
    now: 0,
  }
  const data = {agent: 'desk', policy: 'steer'} as const
  const from = {session: 'parent' as SessionId, seq: 3}
  const opened = say(
    rules,
    world,
    0,
    scenario.branch ? {kind: 'session.forked', data: {...data, from}} : {kind: 'session.opened', data},
  )
  const spoken = opened && post(rules, opened, 0)
  if (!spoken) throw new Error('the opening of a session is refused')
  return spoken
}

function emptyDevice(id: Device['id']): Device {
  return {
    id,
    confirmed: initialSession,
    pending: [],
    current: initialSession,
    rejected: [],
    deviceSeq: 0,
    busy: null,
    answered: null,
  }
}
