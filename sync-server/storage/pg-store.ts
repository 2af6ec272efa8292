import {migrate} from './migrate.ts'
import {pgApprovals} from './pg-approvals.ts'
import {pgApproverKeys} from './pg-approver-keys.ts'
import {pgAudit} from './pg-audit.ts'
import {pgDelegations} from './pg-delegations.ts'
import {pgDueWork} from './pg-due-work.ts'
import {pgLedger} from './pg-ledger.ts'
import {pgSessions} from './pg-sessions.ts'
import type {Sql} from './sql.ts'
import type {Store} from './store.ts'

/**
 * The store on Postgres or PGlite; brings the schema up to date first.
 *
 * @example
 * const store = await openPgStore(pgliteSql(await PGlite.create('./data')))
 */
export async function openPgStore(sql: Sql): Promise<Store> {
  await migrate(sql)
  return {
    sessions: pgSessions(sql),
    ledger: pgLedger(sql),
    approvals: pgApprovals(sql),
    audit: pgAudit(sql),
    delegations: pgDelegations(sql),
    keys: pgApproverKeys(sql),
    due: pgDueWork(sql),
  }
}
