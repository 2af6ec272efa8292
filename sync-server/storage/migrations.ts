/**
 * The schema, in order; a step that has been released is never edited. Free text and JSON are kept as JSON text: a
 * NUL or a lone surrogate is legal in an event and in no Postgres string. [LOG-5] Every table has its tenant [RET-5] and
 * a prefix, because the application may keep its own tables in the same database.
 */
export const migrations: readonly {name: string; statements: readonly string[]}[] = [
  {
    name: '1-sessions-events',
    statements: [
      `CREATE TABLE hf_sessions (
        tenant TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, agent TEXT NOT NULL, title TEXT NOT NULL,
        head BIGINT NOT NULL, state TEXT NOT NULL, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL,
        PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_sessions_by_subject ON hf_sessions (tenant, subject, updated_at)',
      `CREATE TABLE hf_events (
        tenant TEXT NOT NULL, session TEXT NOT NULL, seq BIGINT NOT NULL, id TEXT NOT NULL, device TEXT,
        device_seq BIGINT, kind TEXT NOT NULL, content_hash TEXT NOT NULL, bytes BIGINT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (tenant, session, seq), UNIQUE (tenant, id), UNIQUE (tenant, session, device, device_seq))`,
      `CREATE TABLE hf_runs (
        tenant TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (tenant, id))`,
    ],
  },
  {
    name: '2-operations-approvals-audit',
    statements: [
      `CREATE TABLE hf_operations (
        tenant TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL, call TEXT NOT NULL,
        requested_by TEXT NOT NULL, tool TEXT NOT NULL, version TEXT NOT NULL, input TEXT NOT NULL,
        basis TEXT NOT NULL, digest TEXT, status TEXT NOT NULL, outcome TEXT NOT NULL,
        proposed_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (tenant, id))`,
      `CREATE INDEX hf_operations_open ON hf_operations (updated_at)
        WHERE status IN ('proposed', 'authorised', 'started', 'uncertain')`,
      `CREATE TABLE hf_approvals (
        tenant TEXT NOT NULL, id TEXT NOT NULL, operation TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL,
        requested_by TEXT NOT NULL, role TEXT NOT NULL, reason TEXT NOT NULL, digest TEXT NOT NULL,
        shown TEXT NOT NULL, status TEXT NOT NULL, decided_by TEXT, note TEXT NOT NULL,
        requested_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, decided_at BIGINT,
        PRIMARY KEY (tenant, id), UNIQUE (tenant, operation))`,
      'CREATE INDEX hf_approvals_by_role ON hf_approvals (tenant, role, requested_at)',
      `CREATE INDEX hf_approvals_open ON hf_approvals (expires_at) WHERE status = 'open'`,
      `CREATE TABLE hf_audit (
        tenant TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, action TEXT NOT NULL, about TEXT NOT NULL,
        reason TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_audit_by_about ON hf_audit (tenant, about, at)',
    ],
  },
  {
    name: '3-limits-verdicts-due-work',
    statements: [
      'ALTER TABLE hf_operations ADD COLUMN started_at BIGINT',
      'ALTER TABLE hf_operations ADD COLUMN amount DOUBLE PRECISION',
      'ALTER TABLE hf_operations ADD COLUMN verdict_role TEXT',
      `CREATE INDEX hf_operations_started ON hf_operations (tenant, tool, started_at) WHERE started_at IS NOT NULL`,
      `CREATE INDEX hf_operations_uncertain ON hf_operations (tenant, verdict_role) WHERE status = 'uncertain'`,
      'CREATE TABLE hf_tool_locks (tenant TEXT NOT NULL, tool TEXT NOT NULL, PRIMARY KEY (tenant, tool))',
      'ALTER TABLE hf_approvals ADD COLUMN approvers BIGINT NOT NULL DEFAULT 1',
      `ALTER TABLE hf_approvals ADD COLUMN endorsements TEXT NOT NULL DEFAULT '[]'`,
      'ALTER TABLE hf_approvals ADD COLUMN requester_may_decide BIGINT NOT NULL DEFAULT 1',
      'ALTER TABLE hf_approvals ADD COLUMN escalates_to TEXT',
      'ALTER TABLE hf_approvals ADD COLUMN escalates_at BIGINT',
      'ALTER TABLE hf_approvals ADD COLUMN escalated_at BIGINT',
      'CREATE INDEX hf_approvals_by_escalation ON hf_approvals (tenant, escalates_to, requested_at)',
      `CREATE TABLE hf_delegations (
        tenant TEXT NOT NULL, id TEXT NOT NULL, role TEXT NOT NULL, from_subject TEXT NOT NULL,
        to_subject TEXT NOT NULL, until BIGINT NOT NULL, reason TEXT NOT NULL, created_at BIGINT NOT NULL,
        revoked_at BIGINT, PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_delegations_to ON hf_delegations (tenant, to_subject, until)',
      'CREATE INDEX hf_delegations_from ON hf_delegations (tenant, from_subject, created_at)',
      'CREATE INDEX hf_delegations_role ON hf_delegations (tenant, role, until)',
      `CREATE TABLE hf_approver_keys (
        tenant TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, public_key TEXT NOT NULL, label TEXT NOT NULL,
        created_at BIGINT NOT NULL, revoked_at BIGINT, PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_approver_keys_by_subject ON hf_approver_keys (tenant, subject)',
      `CREATE TABLE hf_due (
        tenant TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, due_at BIGINT NOT NULL, attempts BIGINT NOT NULL,
        leased_until BIGINT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (tenant, name, key))`,
      'CREATE INDEX hf_due_by_time ON hf_due (due_at)',
      `INSERT INTO hf_due SELECT tenant, 'operation', id, updated_at, 0, 0, '' FROM hf_operations
        WHERE status IN ('proposed', 'authorised', 'started', 'uncertain')`,
      `INSERT INTO hf_due SELECT tenant, 'expire', operation, expires_at, 0, 0, '' FROM hf_approvals
        WHERE status = 'open'`,
      'DROP INDEX hf_operations_open',
      'DROP INDEX hf_approvals_open',
    ],
  },
]
