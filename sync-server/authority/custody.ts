import {type CustodyState, decideClaim} from '../../runtime/protocol/custody.ts'
import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {DeviceId, SessionId} from '../../runtime/protocol/ids.ts'
import type {Refusal} from '../../runtime/protocol/refusal.ts'
import type {Principal} from '../principal.ts'
import {appendBatch} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {pokeAbout} from './poke.ts'

export type ClaimAnswer = {refusal: Refusal} | {refusal: null; custody: CustodyState; head: number}

/**
 * Grants the next epoch to whoever saw the current one: of two claims at once exactly one wins. [CUS-1]
 *
 * @throws HoldfastError `not_found` for a session that does not exist or is somebody else's
 */
export async function claimCustody(
  authority: Authority,
  principal: Principal,
  session: SessionId,
  claim: {device: DeviceId; sawEpoch: number},
): Promise<ClaimAnswer> {
  const {store, environment} = authority
  const {tenant, subject} = principal
  const result = await store.sessions.locked({tenant, subject, session}, async locked => {
    const batch = appendBatch(session, locked.state, environment)
    const refusal = alreadyGranted(locked.state.custody, claim)
      ? null
      : await grant(locked.state.custody, claim, batch.serve)
    await locked.append(batch.sealed, {state: batch.state, at: environment.now()})
    return {refusal, before: locked.state, after: batch.state, sealed: batch.sealed}
  })
  if (!result) throw new HoldfastError('not_found', 'No such session.')
  const {refusal, before, after, sealed} = result.value
  pokeAbout(authority, {tenant, subject, session}, before, sealed)
  return refusal ? {refusal} : {refusal: null, custody: after.custody, head: after.head}
}

type Claim = {device: DeviceId; sawEpoch: number}

/** The answer to this very claim was lost: granting once more would fence the holder off from its own epoch. [CUS-5] */
function alreadyGranted(custody: CustodyState, {device, sawEpoch}: Claim): boolean {
  return custody.holder === device && custody.epoch === sawEpoch + 1
}

async function grant(
  custody: CustodyState,
  {device, sawEpoch}: Claim,
  serve: ReturnType<typeof appendBatch>['serve'],
): Promise<Refusal | null> {
  const refusal = decideClaim(custody, {holder: device, sawEpoch})
  if (refusal) return refusal
  const data = {holder: device, epoch: custody.epoch + 1, reason: 'requested' as const}
  await serve('custody', {kind: 'custody.granted', data})
  return null
}
