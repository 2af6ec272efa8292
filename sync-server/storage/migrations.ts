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
]
