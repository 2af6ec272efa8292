import type {TenantId} from '../../runtime/protocol/ids.ts'
import type {AuditEntry, LockedSession} from '../storage/store.ts'
import type {AppendBatch} from './append-batch.ts'
import type {Authority} from './authority.ts'
import {dueChangesOf} from './due-changes.ts'
import {messagesAbout} from './webhooks.ts'

/** Appends a batch together with its audit entry, its due work and its webhook messages. */
export async function commitBatch(
  {environment, webhooks}: Pick<Authority, 'environment' | 'webhooks'>,
  tenant: TenantId,
  locked: LockedSession,
  {sealed, state}: AppendBatch,
  audit?: AuditEntry,
): Promise<void> {
  const at = environment.now()
  const due = sealed.flatMap(({event}) => [
    ...dueChangesOf(tenant, event, at),
    ...messagesAbout(tenant, event, webhooks, at),
  ])
  await locked.append(sealed, {state, at, due, ...(audit && {audit})})
}
