import {isMigrated, migrate} from './migrate.ts'
import {pgAgents} from './pg-agents.ts'
import {pgApprovals} from './pg-approvals.ts'
import {pgApproverKeys} from './pg-approver-keys.ts'
import {pgAudit} from './pg-audit.ts'
import {pgDelegations} from './pg-delegations.ts'
import {pgDevices} from './pg-devices.ts'
import {pgDueWork} from './pg-due-work.ts'
import {pgErasures} from './pg-erasures.ts'
import {pgLedger} from './pg-ledger.ts'
import {pgMemory} from './pg-memory.ts'
import {pgModelCalls} from './pg-model-calls.ts'
import {pgSessions} from './pg-sessions.ts'
import {pgTasks} from './pg-tasks.ts'
import {pgTokens} from './pg-tokens.ts'
import {scrub} from './scrub.ts'
import type {Sql} from './sql.ts'
import type {Store} from './store.ts'
import {subjectRecords} from './subject-records.ts'

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
    agents: pgAgents(sql),
    memory: pgMemory(sql),
    erasures: pgErasures(sql),
    devices: pgDevices(sql),
    records: owner => subjectRecords(sql, owner),
    scrub: () => scrub(sql),
    modelCalls: pgModelCalls(sql),
    tokens: pgTokens(sql),
    tasks: pgTasks(sql),
    health: {migrated: () => isMigrated(sql)},
  }
}
