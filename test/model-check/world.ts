import type {NextStep} from '../../runtime/loop/next-step.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import type {ApprovalId, DeviceId, EventId, OperationId, SessionId} from '../../runtime/protocol/ids.ts'
import type {Pin, PinnedVersion} from '../../runtime/protocol/pin.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {PushAnswer} from '../../runtime/protocol/wire.ts'
import {pinnedTool, pinWith} from '../support/pin.ts'
import type {History} from './history.ts'

/** Names follow from who writes and how much it has written, so equal situations are equal whatever led to them. */
export const session = 'session' as SessionId
export const deviceIds = ['A', 'B'] as unknown as readonly [DeviceId, DeviceId]
export type Who = 0 | 1
export const everyone: readonly Who[] = [0, 1]

export type Device = {
  id: DeviceId
  confirmed: SessionState
  pending: readonly Event[]
  current: SessionState
  rejected: readonly EventId[]
  deviceSeq: number
  /**
   * What the loop is busy with: chosen from the state before, its outcome not appended yet. It has read ahead for the
   * next view at `at`, or at what it has appended itself since.
   */
  busy: {step: NextStep; before: SessionState; at: SessionState} | null
  /** An answer that has been taken half: accepted events are folded, refused ones not yet. */
  answered: PushAnswer | null
}

/** On the wire; `live` while the sender still waits for it, else it is a straggler that nobody expects any more. */
export type Packet =
  | {type: 'push'; from: Who; batch: readonly Event[]; live: boolean}
  | {type: 'answer'; to: Who; batch: readonly Event[]; answer: PushAnswer}
  | {type: 'claim'; from: Who; sawEpoch: number}

export type Server = {
  state: SessionState
  log: readonly (Event & {seq: number})[]
  /** The operation whose outside call is under way in this process. */
  calling: OperationId | null
  /** Version of the one business fact there is. */
  fact: number
  /** Approvals whose time has passed. */
  overdue: readonly ApprovalId[]
  history: History
}

/** How often each thing may still happen; what bounds an exploration. */
export type Left = {
  messages: number
  cancels: number
  retries: number
  externals: number
  locals: number
  /** Model calls that fail in a way that may pass. */
  failures: number
  claims: number
  /** Times that a device which is not the holder goes on without the server. */
  assumes: number
  /** Requests that take time, and so can be lost, doubled, overtaken or answered to nobody. */
  delays: number
  /** Moments, other than model calls, at which something else may come between. */
  interruptions: number
  /** Pulls that bring one event only. */
  shortPulls: number
  crashes: number
  serverCrashes: number
  expiries: number
  /** Changes of the fact that operations rest on. */
  factChanges: number
  /** Events of a kind that these builds do not know. */
  unreadables: number
  /** Decisions about an operation of another session, the one that this one branched off. */
  strays: number
  /** Local calls that ask the run to sleep until the next morning. */
  sleeps: number
  /** Times that something outside wakes a run before its time. */
  wakes: number
  /** Budgets that a person adds to a run that stands at a bound, which then is not the end of it. */
  extensions: number
  /** Runs that a person moves to the next version of their agent, which only device A has. */
  migrations: number
  closings: number
}

export type Policy = 'ask' | 'allow' | 'deny'
export type Scenario = {
  name: string
  left: Left
  policies: readonly Policy[]
  maxSteps: number
  /** The session is a branch of another. */
  branch?: true
}
export type World = {
  devices: readonly [Device, Device]
  server: Server
  wire: readonly Packet[]
  left: Left
  now: number
}

export const nothing: Left = {
  messages: 0,
  cancels: 0,
  retries: 0,
  externals: 0,
  locals: 0,
  failures: 0,
  claims: 0,
  assumes: 0,
  delays: 0,
  interruptions: 0,
  shortPulls: 0,
  crashes: 0,
  serverCrashes: 0,
  expiries: 0,
  factChanges: 0,
  unreadables: 0,
  strays: 0,
  sleeps: 0,
  wakes: 0,
  extensions: 0,
  migrations: 0,
  closings: 0,
}

const refundOrder = pinnedTool('refundOrder', 'external')
export const tools: Pin['tools'] = [pinnedTool('saveNote', 'local'), refundOrder]

/** The next version of the agent takes notes otherwise. */
export const nextVersion: PinnedVersion = {
  version: '2.0.0',
  tools: [pinnedTool('saveNote', 'local', '2'), refundOrder],
  toolsHash: 'c'.repeat(64),
  model: {label: 'holdfast-testing/scripted'},
}

export function pinOf({maxSteps, left: {extensions}}: Scenario): Pin {
  return pinWith({tools, budgets: {maxSteps, onBound: extensions > 0 ? 'escalate' : 'partial'}})
}

export function withDevice(world: World, who: Who, change: Partial<Device>): World {
  const device = {...world.devices[who], ...change}
  return {...world, devices: who === 0 ? [device, world.devices[1]] : [world.devices[0], device]}
}

export function spend(world: World, what: keyof Left): World {
  return {...world, left: {...world.left, [what]: world.left[what] - 1}}
}

export function without(wire: readonly Packet[], packet: Packet): Packet[] {
  return wire.filter(other => other !== packet)
}
