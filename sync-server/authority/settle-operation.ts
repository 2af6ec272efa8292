import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {OperationId} from '../../runtime/protocol/ids.ts'
import type {Settled, Settlement} from '../../runtime/protocol/wire.ts'
import type {Principal} from '../principal.ts'
import type {LedgerRow} from '../storage/store.ts'
import type {ServiceDraft} from './append-batch.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'
import {heldRoles, roleNames} from './held-roles.ts'
import {clip} from './prepare-operation.ts'

/**
 * Records a person's verdict on an uncertain operation that no system can determine; the run then continues. The
 * verdict is final: the operation is never retried, whatever is found later. Every attempt is audited. [OP-4]
 *
 * @throws HoldfastError `not_found`, `conflict` for another digest, `refused` if it is not uncertain
 */
export async function settleOperation(
  authority: Authority,
  principal: Principal,
  operation: OperationId,
  said: Settlement,
): Promise<Settled> {
  const {store, environment} = authority
  const {tenant, subject} = principal
  const refuse = async (error: HoldfastError) => {
    const entry = {tenant, subject, action: 'operation.verdict_refused' as const, about: operation}
    await store.audit.record({...entry, reason: error.message, at: environment.now()})
    return error
  }
  const row = await store.ledger.operation({tenant, operation})
  const roles = roleNames(await heldRoles(authority, principal))
  if (!row?.verdictRole || !roles.includes(row.verdictRole)) {
    throw await refuse(new HoldfastError('not_found', 'No such operation.'))
  }
  const fault = faultOf(row, said)
  if (fault) throw await refuse(fault)
  const draft = draftOf(row, principal, said)
  const reason = said.happened ? `It happened: ${said.receipt}` : `It did not happen: ${said.reason}`
  const audit = {tenant, subject, action: 'operation.settled' as const, about: operation, reason, at: environment.now()}
  const {event} = await appendServiceEvent(
    authority,
    row,
    () => draft,
    () => audit,
  )
  if (!event) throw await refuse(notUncertain((await store.ledger.operation({tenant, operation})) ?? row))
  return {operation, status: said.happened ? 'executed' : 'failed'}
}

function faultOf(row: LedgerRow, {digest}: Settlement): HoldfastError | null {
  if (row.status !== 'uncertain') return notUncertain(row)
  if (digest === row.digest) return null
  return new HoldfastError('conflict', 'The digest is not that of the operation to settle; look at it again.')
}

function notUncertain({status}: LedgerRow): HoldfastError {
  return new HoldfastError('refused', `This operation is ${status}, not uncertain; nothing was changed.`, {
    details: {
      asked: 'a verdict on an operation',
      met: `an operation that is ${status}`,
      owner: 'operation service',
      legal: [],
      status,
    },
  })
}

function draftOf({operation, run}: LedgerRow, {subject}: Principal, said: Settlement): ServiceDraft {
  return said.happened
    ? {
        kind: 'operation.executed',
        run,
        data: {operation, receipt: {receipt: clip(said.receipt, 2000), saidBy: subject}, settledBy: subject},
      }
    : {kind: 'operation.failed', run, data: {operation, reason: clip(said.reason), settledBy: subject}}
}
