/**
 * Ordered, append-only: a migration that has shipped is never edited, a new one goes to the end.
 * JSON is stored as TEXT exactly as JSON.stringify wrote it: jsonb refuses NUL and lone surrogates. [LOG-5]
 */
export const migrations: readonly string[] = [
  `
  create table holdfast_device (
    one boolean primary key default true check (one),
    id text not null,
    -- Its user's wish, which a reload must not undo.
    online boolean not null default true
  );
  create table holdfast_sessions (
    id text primary key,
    agent text not null,
    title text,
    -- Control state folded from confirmed events, and from confirmed plus pending ones.
    confirmed text not null,
    current text not null,
    head bigint not null,
    device_seq bigint not null,
    excerpt text not null default '',
    updated_at bigint not null,
    -- Where a fork branched off; null for a session of its own.
    parent text,
    parent_seq bigint
  );
  create index holdfast_sessions_parent on holdfast_sessions (parent) where parent is not null;
  create table holdfast_events (
    id text primary key,
    session text not null,
    status text not null check (status in ('pending', 'accepted', 'rejected')),
    -- Where it stands in the log: its seq, the head at which it was rejected, or the end while it is pending.
    place bigint not null,
    device_seq bigint not null,
    kind text not null,
    body text not null,
    reason text
  );
  create unique index holdfast_events_order on holdfast_events (session, place, device_seq, id);
  create index holdfast_events_pending on holdfast_events (session, device_seq) where status = 'pending';
  create index holdfast_events_documents on holdfast_events (session, place) where kind = 'document.updated';
  create table holdfast_facts (
    key text primary key,
    value text not null,
    version text not null,
    fetched_at bigint not null
  );
  create table holdfast_documents (
    session text not null,
    name text not null,
    snapshot bytea not null,
    primary key (session, name)
  );
  `,
  `
  -- What stands in the place of an erased session: no word of it, only that it was and how much it took.
  create table holdfast_erased (
    session text primary key,
    erasure text not null,
    why text not null,
    at bigint not null,
    unsent int not null
  );
  `,
  `
  -- What a fork inherits is read as of its event, however long the transcript is.
  create index holdfast_events_slots on holdfast_events (session, place)
    where kind in ('session.forked', 'slots.patched');
  create index holdfast_events_summaries on holdfast_events (session, place, device_seq, id)
    where kind = 'view.compacted';
  create index holdfast_events_steps on holdfast_events (substring(body from '"step":"(stp_[0-9a-f-]+)"'))
    where kind = 'step.prepared';
  `,
  `
  -- The head that the device had when it wrote the event; null for one that came from elsewhere.
  alter table holdfast_events add column based_on bigint;
  -- The divergence that a refused event belongs to.
  alter table holdfast_events add column divergence text;
  create index holdfast_events_operations on holdfast_events (session, place) where kind like 'operation.%';
  create index holdfast_events_runs on holdfast_events (session) where kind = 'run.started';
  create table holdfast_divergences (
    id text primary key,
    session text not null,
    base bigint not null,
    -- What the person chose, null while it is open.
    choice text,
    fork text,
    resolved_at bigint
  );
  create index holdfast_divergences_session on holdfast_divergences (session);
  `,
  `
  -- The server's registry of agents, as it was last fetched.
  create table holdfast_agents (
    one boolean primary key default true check (one),
    body text not null,
    fetched_at bigint not null
  );
  `,
  `
  -- Edits of a document since its snapshot: writing the snapshot at every keystroke costs what the document has become.
  create table holdfast_document_updates (
    session text not null,
    name text not null,
    place bigint generated always as identity,
    update bytea not null,
    primary key (session, name, place)
  );
  `,
  `
  create table holdfast_memory (id text primary key, body text not null);
  create table holdfast_memory_cursor (one boolean primary key default true check (one), cursor bigint not null);
  create table holdfast_memory_proposals (place bigserial, id text primary key, body text not null);
  create table holdfast_memory_outbox (
    place bigserial, id text primary key, item text not null, body text not null, not_before bigint not null,
    refused text
  );
  -- Runs that have ended here, so that each is read once for what is worth remembering.
  create table holdfast_memory_runs (
    place bigserial, run text primary key, session text not null,
    state text not null default 'waiting' check (state in ('waiting', 'done', 'failed')), fault text
  );
  create table holdfast_memory_vectors (
    item text not null, embedder text not null, vector bytea not null, primary key (item, embedder)
  );
  `,
  `
  -- Each session has copies of its own, so that erasing one takes nothing from another.
  create table holdfast_blobs (
    session text not null,
    id text not null,
    place bigint generated always as identity,
    size int not null,
    bytes bytea not null,
    -- Whether the server has these bytes, as far as this device knows; no_room: it has said that it does not take them.
    state text not null check (state in ('unsent', 'no_room', 'sent')),
    primary key (session, id)
  );
  create index holdfast_blobs_unsent on holdfast_blobs (session, place) where state <> 'sent';
  `,
  `
  -- The step that an event prepared, in a column of its own: to find it in the body, each write searched all of it.
  alter table holdfast_events add column step text;
  update holdfast_events set step = substring(body from '"step":"(stp_[0-9a-f-]+)"') where kind = 'step.prepared';
  drop index holdfast_events_steps;
  create index holdfast_events_steps on holdfast_events (step) where step is not null;
  -- Few rows, each written anew with every step: compressing them costs more than what it saves.
  alter table holdfast_sessions set (toast_tuple_target = 8160);
  `,
  `
  -- Whose database this is; null while nobody has used it. [ID-6]
  alter table holdfast_device add column tenant text;
  alter table holdfast_device add column subject text;
  `,
]
