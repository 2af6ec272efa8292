/**
 * The migrations, in order. A released migration is never edited. Free text and JSON are stored as JSON text: a NUL
 * or a lone surrogate is legal in an event but not in a Postgres string. [LOG-5] Every table has a tenant column
 * [RET-5] and a prefix, because the application may keep its own tables in the same database.
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
  {
    name: 'memory',
    statements: [
      // The row is the lock on a subject's memory. Its cursor is that of the last change.
      `CREATE TABLE hf_memory_subjects (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, cursor BIGINT NOT NULL, PRIMARY KEY (tenant, subject))`,
      // A tombstone has an empty body, so that no text is left in the row.
      `CREATE TABLE hf_memory (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, id TEXT NOT NULL, cursor BIGINT NOT NULL, status TEXT NOT NULL,
        valid_until BIGINT, body TEXT NOT NULL, updated_at BIGINT NOT NULL, PRIMARY KEY (tenant, subject, id))`,
      'CREATE UNIQUE INDEX hf_memory_changes ON hf_memory (tenant, subject, cursor)',
      `CREATE INDEX hf_memory_ends ON hf_memory (valid_until)
        WHERE status IN ('accepted', 'corrected') AND valid_until IS NOT NULL`,
      `CREATE TABLE hf_memory_sources (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, item TEXT NOT NULL, session TEXT NOT NULL,
        PRIMARY KEY (tenant, subject, item, session))`,
      'CREATE INDEX hf_memory_by_session ON hf_memory_sources (tenant, subject, session)',
      `CREATE TABLE hf_memory_vectors (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, item TEXT NOT NULL, embedder TEXT NOT NULL, vector TEXT NOT NULL,
        PRIMARY KEY (tenant, subject, item, embedder))`,
    ],
  },
  {
    name: 'erasure-1',
    statements: [
      `CREATE TABLE hf_erasures (
        tenant TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, session TEXT, sessions TEXT NOT NULL,
        requested_by TEXT, derived BIGINT NOT NULL, layers TEXT NOT NULL, requested_at BIGINT NOT NULL,
        erased_at BIGINT, files_at BIGINT, completed_at BIGINT, PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_erasures_by_subject ON hf_erasures (tenant, subject, requested_at)',
      `CREATE INDEX hf_erasures_unfinished ON hf_erasures (requested_at)
        WHERE erased_at IS NULL OR files_at IS NULL`,
      `CREATE TABLE hf_tombstones (
        tenant TEXT NOT NULL, session TEXT NOT NULL, subject TEXT NOT NULL, erasure TEXT NOT NULL, at BIGINT NOT NULL,
        PRIMARY KEY (tenant, session))`,
      'CREATE INDEX hf_sessions_idle ON hf_sessions (updated_at)',
      'CREATE INDEX hf_audit_by_time ON hf_audit (at)',
      'CREATE INDEX hf_tombstones_by_erasure ON hf_tombstones (tenant, erasure)',
      `CREATE TABLE hf_devices (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, id TEXT NOT NULL, first_seen BIGINT NOT NULL,
        last_seen BIGINT NOT NULL, PRIMARY KEY (tenant, subject, id))`,
      `CREATE TABLE hf_revocations (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, token TEXT NOT NULL, at BIGINT NOT NULL,
        PRIMARY KEY (tenant, subject, token))`,
      `CREATE TABLE hf_purges (
        tenant TEXT NOT NULL, erasure TEXT NOT NULL, device TEXT NOT NULL, subject TEXT NOT NULL, purged_at BIGINT,
        PRIMARY KEY (tenant, erasure, device))`,
    ],
  },
  {
    name: 'models-calls-tokens',
    statements: [
      `CREATE TABLE hf_model_calls (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, key TEXT NOT NULL, session TEXT, run TEXT, step TEXT,
        attempt BIGINT, try BIGINT, model TEXT NOT NULL, request_hash TEXT NOT NULL, owner TEXT NOT NULL,
        status TEXT NOT NULL, lease_until BIGINT NOT NULL, followed_until BIGINT NOT NULL, started_at BIGINT NOT NULL,
        ended_at BIGINT, parts BIGINT NOT NULL, input_tokens BIGINT NOT NULL, output_tokens BIGINT NOT NULL,
        cost_micros BIGINT NOT NULL, estimated BIGINT NOT NULL, PRIMARY KEY (tenant, subject, key))`,
      'CREATE INDEX hf_model_calls_by_time ON hf_model_calls (tenant, started_at)',
      'CREATE INDEX hf_model_calls_by_run ON hf_model_calls (tenant, run)',
      'CREATE INDEX hf_model_calls_by_session ON hf_model_calls (tenant, session)',
      `CREATE INDEX hf_model_calls_open ON hf_model_calls (lease_until) WHERE status = 'open'`,
      `CREATE TABLE hf_model_parts (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, key TEXT NOT NULL, first BIGINT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (tenant, subject, key, first))`,
      'CREATE TABLE hf_model_tenants (tenant TEXT PRIMARY KEY)',
    ],
  },
  {
    name: 'models-run-totals',
    statements: [
      `CREATE TABLE hf_run_totals (
        tenant TEXT NOT NULL, run TEXT NOT NULL, session TEXT NOT NULL, subject TEXT NOT NULL, status TEXT NOT NULL,
        started_at BIGINT NOT NULL, ended_at BIGINT, counted_at BIGINT, failures BIGINT NOT NULL DEFAULT 0,
        steps BIGINT NOT NULL DEFAULT 0, input_tokens BIGINT NOT NULL DEFAULT 0,
        output_tokens BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tenant, run))`,
      'CREATE INDEX hf_run_totals_by_end ON hf_run_totals (tenant, counted_at)',
    ],
  },
  {
    name: 'slots',
    statements: [
      `CREATE INDEX hf_events_slots ON hf_events (tenant, session, seq)
        WHERE kind IN ('session.forked', 'slots.patched')`,
    ],
  },
  {
    name: 'agents',
    statements: [
      `CREATE TABLE hf_agent_versions (
        tenant TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, manifest TEXT NOT NULL,
        published_by TEXT NOT NULL, published_at BIGINT NOT NULL, PRIMARY KEY (tenant, name, version))`,
      `CREATE TABLE hf_active_versions (
        tenant TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, moved_by TEXT NOT NULL,
        moved_at BIGINT NOT NULL, PRIMARY KEY (tenant, name))`,
    ],
  },
  {
    name: 'calls',
    statements: [
      `CREATE TABLE hf_calls (
        tenant TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (tenant, id))`,
      'CREATE INDEX hf_calls_by_session ON hf_calls (tenant, session)',
    ],
  },
  {
    name: 'effects',
    statements: [
      `CREATE INDEX hf_events_effects ON hf_events (tenant, session, seq)
        WHERE kind IN ('operation.proposed', 'operation.started', 'operation.executed', 'operation.uncertain',
          'operation.failed')`,
    ],
  },
  {
    name: 'run-totals-trouble',
    statements: [
      'ALTER TABLE hf_run_totals ADD COLUMN resumes BIGINT NOT NULL DEFAULT 0',
      'ALTER TABLE hf_run_totals ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0',
    ],
  },
  {
    name: 'blobs',
    statements: [
      // A row without bytes records that there was no room.
      `CREATE TABLE hf_blobs (
        tenant TEXT NOT NULL, session TEXT NOT NULL, id TEXT NOT NULL, size BIGINT NOT NULL, bytes BYTEA,
        named BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (tenant, session, id))`,
      'CREATE INDEX hf_blobs_room ON hf_blobs (tenant, session, size) WHERE bytes IS NOT NULL',
      'CREATE INDEX hf_blobs_unnamed ON hf_blobs (at) WHERE named = 0',
    ],
  },
  {
    name: 'memory-settled-sources',
    statements: [
      // Source events of corrected or forgotten items. The item's key is stored as a hash.
      `CREATE TABLE hf_memory_settled (
        tenant TEXT NOT NULL, subject TEXT NOT NULL, session TEXT NOT NULL, event TEXT NOT NULL, key_hash TEXT NOT NULL,
        PRIMARY KEY (tenant, subject, event, key_hash))`,
      'CREATE INDEX hf_memory_settled_by_session ON hf_memory_settled (tenant, subject, session)',
    ],
  },
  {
    name: 'decisions',
    statements: [
      // Finds a subject's decisions on operations in sessions of others.
      `CREATE INDEX hf_events_decisions ON hf_events (tenant, session, seq)
        WHERE kind IN ('approval.endorsed', 'approval.granted', 'approval.rejected', 'operation.executed',
          'operation.failed')`,
    ],
  },
  {
    name: 'erased-files',
    statements: [
      'ALTER TABLE hf_erasures ADD COLUMN files_from BIGINT',
      'CREATE INDEX hf_erasures_files ON hf_erasures (requested_at) WHERE files_at IS NULL',
    ],
  },
]
