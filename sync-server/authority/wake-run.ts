import {HoldfastError} from '../../runtime/protocol/errors.ts'
import type {RunId} from '../../runtime/protocol/ids.ts'
import {refusalError} from '../../runtime/protocol/refusal.ts'
import type {Principal} from '../principal.ts'
import {appendServiceEvent} from './append-service-event.ts'
import type {Authority} from './authority.ts'

/**
 * Wakes a sleeping run after an external event. The holder of custody then continues it. [RUN-1]
 *
 * @throws HoldfastError `not_found` for a run that does not exist or belongs to another subject, `refused` if it is
 * not asleep
 */
export async function wakeRun(
  authority: Authority,
  principal: Principal,
  run: RunId,
  wake: {note?: string | undefined},
): Promise<{head: number}> {
  const session = await authority.store.sessions.sessionOfRun(principal, run)
  if (!session) throw new HoldfastError('not_found', 'No such run.')
  const {note} = wake
  const data = {by: 'outside' as const, ...(note !== undefined && {note})}
  const where = {tenant: principal.tenant, session}
  const {refusal, event} = await appendServiceEvent(authority, where, () => ({kind: 'run.woken', run, data}))
  if (refusal) throw refusalError(refusal)
  return {head: event?.seq ?? 0}
}
