import {type AgentBuild, goesOnWith, nextStep} from '../../runtime/loop/next-step.ts'
import {decide, type Verdict} from '../../runtime/protocol/decide.ts'
import type {Event} from '../../runtime/protocol/event.ts'
import {evolve} from '../../runtime/protocol/evolve.ts'
import type {DeviceId} from '../../runtime/protocol/ids.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {Basis} from '../../runtime/protocol/tool.ts'
import {fencedOff, foldPending, followOn} from '../../runtime/storage/fold-log.ts'
import {acceptedInOrder, rejections} from '../../runtime/sync/read-verdicts.ts'
import {judgeClaim} from '../../sync-server/authority/custody.ts'
import {judgeEvent} from '../../sync-server/authority/judge-event.ts'
import {moveFor} from '../../sync-server/authority/operations.ts'
import {observe} from './history.ts'
import {deviceIds, nextVersion, tools} from './world.ts'

/**
 * The product's own pure code, all of it that takes a decision; the model below only moves messages between these. A
 * planted bug is this record with one of them replaced.
 */
export const realRules = {
  decide: decide as (state: SessionState, event: Event) => Verdict,
  evolve,
  nextStep,
  goesOnWith,
  foldPending,
  followOn,
  fencedOff,
  acceptedInOrder,
  rejections,
  judgeEvent,
  judgeClaim,
  moveFor,
  observe,
  /** As the server compares what an operation rests on with what is so now. [OP-5] */
  isStale: (basis: Basis, fact: number): boolean => basis.order !== undefined && basis.order !== String(fact),
  numbered: (event: Event, seq: number): Event & {seq: number} => ({...event, seq}),
  /** Events of equal content become one object. */
  same: <T extends object>(value: T): T => value,
}
export type Rules = typeof realRules

const builds: readonly AgentBuild[] = [
  {name: 'desk', version: '1.0.0', tools},
  {name: 'desk', version: nextVersion.version, tools: nextVersion.tools},
]

/** Device B runs an earlier release than A. */
export function buildsOf(device: DeviceId): readonly AgentBuild[] {
  return device === deviceIds[0] ? builds : builds.slice(0, 1)
}

export function stepOf(rules: Rules, device: {id: DeviceId; current: SessionState}, now: number) {
  return rules.nextStep(device.current, {device: device.id, agents: buildsOf(device.id), now})
}
