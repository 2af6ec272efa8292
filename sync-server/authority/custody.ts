import {isAtRest} from '../../runtime/protocol/at-rest.ts'
import {type CustodyState, decideClaim} from '../../runtime/protocol/custody.ts'
import type {DataOf} from '../../runtime/protocol/event.ts'
import type {DeviceId, SessionId} from '../../runtime/protocol/ids.ts'
import type {Refusal} from '../../runtime/protocol/refusal.ts'
import type {SessionState} from '../../runtime/protocol/session.ts'
import type {Principal} from '../principal.ts'
import {appendBatch} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {commitBatch} from './commit-batch.ts'
import {goneError} from './erase.ts'
import {pokeAbout} from './poke.ts'

export type ClaimAnswer = {refusal: Refusal} | {refusal: null; custody: CustodyState; head: number}

/**
 * Grants the next custody epoch by compare-and-set on `sawEpoch`: of concurrent claims exactly one succeeds. [CUS-1]
 *
 * @throws HoldfastError `not_found` for a session that does not exist or belongs to another subject, `erased` for an
 * erased one
 */
export async function claimCustody(
  authority: Authority,
  principal: Principal,
  session: SessionId,
  claim: Claim,
): Promise<ClaimAnswer> {
  const {store, environment} = authority
  const {tenant, subject} = principal
  const result = await store.sessions.locked({tenant, subject, session}, async locked => {
    const batch = appendBatch(session, locked.state, environment)
    const {refusal, grant} =
      judgeHandOver(locked.state, claim) ?? judgeIdle(locked.state, claim) ?? judgeClaim(locked.state.custody, claim)
    if (grant) await batch.serve('custody', {kind: 'custody.granted', data: grant})
    await commitBatch(authority, tenant, locked, batch)
    return {refusal, before: locked.state, after: batch.state, sealed: batch.sealed}
  })
  if (!result) throw await goneError(store, principal, session)
  const {refusal, before, after, sealed} = result.value
  pokeAbout(authority, {tenant, subject, session}, before, sealed)
  return refusal ? {refusal} : {refusal: null, custody: after.custody, head: after.head}
}

type Claim = {device: DeviceId; sawEpoch: number; to?: DeviceId | undefined; idle?: true | undefined}
type ClaimJudgement = {refusal: Refusal | null; grant: DataOf<'custody.granted'> | null}

/**
 * Decides a hand-over. Pure. The target must have written in this session; otherwise a mistyped id would leave no
 * device to advance the runs. [CUS-3]
 */
export function judgeHandOver({custody, written}: SessionState, {device, sawEpoch, to}: Claim): ClaimJudgement | null {
  if (to === undefined || to === device) return null
  const judged = judgeClaim(custody, {device: to, sawEpoch})
  if (judged.refusal || !judged.grant) return judged
  if (written[to] !== undefined) return {refusal: null, grant: {...judged.grant, reason: 'handed_over'}}
  const refusal: Refusal = {
    code: 'refused',
    asked: `custody for ${to}`,
    met: 'a device that has written nothing in this session',
    owner: 'control plane',
    legal: ['write from that device, or take over there'],
  }
  return {refusal, grant: null}
}

/** Refuses a claim on an idle session while the holder advances a run. Pure. [CUS-3] */
export function judgeIdle(state: SessionState, {device, idle}: Claim): ClaimJudgement | null {
  if (!idle || state.custody.holder === device || isAtRest(state)) return null
  const refusal: Refusal = {
    code: 'refused',
    asked: 'custody of an idle session',
    met: 'a run that another device works on',
    owner: 'control plane',
    legal: ['wait until it has ended or waits', 'take over'],
  }
  return {refusal, grant: null}
}

/** Decides a claim in this state. Pure. */
export function judgeClaim(custody: CustodyState, {device, sawEpoch}: Claim): ClaimJudgement {
  if (alreadyGranted(custody, {device, sawEpoch})) return {refusal: null, grant: null}
  const refusal = decideClaim(custody, {holder: device, sawEpoch})
  return {refusal, grant: refusal ? null : {holder: device, epoch: custody.epoch + 1, reason: 'requested'}}
}

/** A retry after a lost response: a second grant would fence the holder off from its own epoch. [CUS-5] */
function alreadyGranted(custody: CustodyState, {device, sawEpoch}: Claim): boolean {
  return custody.holder === device && custody.epoch === sawEpoch + 1
}
