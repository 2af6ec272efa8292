import {countedSql} from './counted-sql.ts'
import {isMigrated, migrate} from './migrate.ts'
import {pgAgents} from './pg-agents.ts'
import {pgApprovals} from './pg-approvals.ts'
import {pgApproverKeys} from './pg-approver-keys.ts'
import {pgAudit} from './pg-audit.ts'
import {pgBlobs} from './pg-blobs.ts'
import {pgDelegations} from './pg-delegations.ts'
import {pgDevices} from './pg-devices.ts'
import {pgDueWork} from './pg-due-work.ts'
import {pgErasures} from './pg-erasures.ts'
import {pgKeeping} from './pg-keeping.ts'
import {pgLedger} from './pg-ledger.ts'
import {pgMemory} from './pg-memory.ts'
import {pgModelCalls} from './pg-model-calls.ts'
import {pgRevocations} from './pg-revocations.ts'
import {pgSessions} from './pg-sessions.ts'
import {pgTasks} from './pg-tasks.ts'
import {pgTokens} from './pg-tokens.ts'
import {requireSql} from './require-sql.ts'
import {fileScrubber} from './scrub.ts'
import type {Sql} from './sql.ts'
import type {Store} from './store.ts'
import {subjectRecords} from './subject-records.ts'
import {tenantWall} from './tenant-wall.ts'

/**
 * Opens the store on Postgres or PGlite, after applying pending migrations.
 *
 * @throws HoldfastError `misconfigured` if `sql` is not a `Sql`
 * @example
 * const store = await openPgStore(pgliteSql(await PGlite.create('./data')))
 */
export async function openPgStore(sql: Sql): Promise<Store> {
  requireSql(sql, 'openPgStore')
  await migrate(sql)
  const counted = countedSql(sql)
  const wall = await tenantWall(counted.sql)
  const files = await fileScrubber(sql, counted.busy)
  const one = wall.sql
  return {
    sessions: pgSessions(one),
    blobs: pgBlobs(one, wall.across('blobs that no event names')),
    ledger: pgLedger(one),
    approvals: pgApprovals(one),
    audit: pgAudit(one),
    delegations: pgDelegations(one),
    keys: pgApproverKeys(one),
    due: pgDueWork(one, wall.across('due work')),
    erasures: pgErasures(one, wall.across('unfinished erasures')),
    devices: pgDevices(one),
    keeping: pgKeeping(wall.across('retention')),
    revocations: pgRevocations(one),
    records: owner => subjectRecords(one, owner),
    files,
    walled: wall.stands,
    agents: pgAgents(one),
    memory: pgMemory(one, wall.across('memory that ended')),
    modelCalls: pgModelCalls(one, wall.across('model calls left open')),
    tokens: pgTokens(one, wall.across('token streams that ended')),
    tasks: pgTasks(one),
    health: {migrated: () => isMigrated(sql)},
  }
}
