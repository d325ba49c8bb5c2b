-- The ledger of oneact in SQLite, schema version 1 (specification 004). Every opening reads these texts, and every
-- statement that writes compiles what they ask for: what a record must be, the program sees to (`store/rules.rs`),
-- and what is changed by another, `oneact verify` finds.

-- What was applied to this file, and what its text was.
CREATE TABLE schema_migrations (
  version        INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,
  checksum       TEXT NOT NULL,              -- SHA-256 of the text
  oneact_version TEXT NOT NULL,
  applied_at     TEXT NOT NULL
) STRICT;

-- Who may use a session is fixed by whoever opened it, and sealed in the link that did.
CREATE TABLE sessions (
  seq        INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  session_id TEXT NOT NULL UNIQUE,
  context    TEXT NOT NULL,
  profile    TEXT NOT NULL,
  principal  TEXT NOT NULL,
  opened_at  TEXT NOT NULL
) STRICT;

-- The chain: what happened, in hashes and names. Each link holds the hash of the one before.
CREATE TABLE ledger_events (
  seq          INTEGER PRIMARY KEY,          -- gapless
  operation_id TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  event        TEXT NOT NULL,
  at           TEXT NOT NULL,                -- RFC 3339, UTC, milliseconds
  actor        TEXT NOT NULL,
  body         TEXT NOT NULL,
  prev_hash    TEXT NOT NULL,
  entry_hash   TEXT NOT NULL
) STRICT;

CREATE INDEX ledger_events_session ON ledger_events (session_id, seq);

-- One row per answer: the columns of specification 004, then what reuse and replay need. Rows of before
-- oneact have neither state nor link, and may hold what was written in those days.
CREATE TABLE agent_actions (
  id               TEXT PRIMARY KEY NOT NULL,          -- a UUID
  agent_name       TEXT,
  action_type      TEXT,                               -- the catalog entry
  target_type      TEXT,
  target_id        TEXT,
  outcome          TEXT,
  request          TEXT,                               -- none after pruning
  request_hash     TEXT NOT NULL,
  response         TEXT,                               -- none after pruning
  confidence_score REAL,
  session_id       TEXT NOT NULL,
  step_index       INTEGER NOT NULL,
  timestamp        TEXT NOT NULL,
  -- added by oneact
  state            TEXT,
  operation_id     TEXT NOT NULL,
  request_id       TEXT,
  idempotency_key  TEXT,
  task_id          TEXT,
  attempt          INTEGER NOT NULL,
  entry_version    TEXT,
  entry_digest     TEXT,
  tool_pin         TEXT,
  oneact_version   TEXT NOT NULL,
  inputs_hash      TEXT,                               -- specification 004's own, of the inputs alone
  input_ids        TEXT,
  output_ids       TEXT,
  adjusted         TEXT,                               -- what a retry changed
  reused_from      TEXT REFERENCES agent_actions (id),
  reason           TEXT,
  fault            TEXT,
  started_at       TEXT NOT NULL,
  duration_ms      INTEGER NOT NULL,
  request_sha256   TEXT NOT NULL,                      -- both stay after pruning, and are in the link's body
  response_sha256  TEXT NOT NULL,
  seq              INTEGER UNIQUE REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  revoked_by       INTEGER REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  UNIQUE (session_id, step_index)
) STRICT;

CREATE INDEX agent_actions_request ON agent_actions (session_id, request_hash, action_type, seq)
  WHERE outcome = 'success' AND state IN ('done', 'partial');
CREATE INDEX agent_actions_task ON agent_actions (session_id, task_id, seq);
CREATE INDEX agent_actions_delivery ON agent_actions (session_id, task_id, request_id, seq)
  WHERE instr('|done|partial|failed|rolled_back|reused|suppressed|', state);
CREATE INDEX agent_actions_key ON agent_actions (session_id, idempotency_key, seq)
  WHERE idempotency_key IS NOT NULL AND instr('|done|partial|failed|rolled_back|reused|suppressed|', state);
CREATE INDEX agent_actions_operation ON agent_actions (operation_id);
CREATE INDEX agent_actions_reused_from ON agent_actions (reused_from) WHERE reused_from IS NOT NULL;

-- Who is at work on what: the only rows that come and go.
CREATE TABLE claims (
  session_id   TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  seq          INTEGER NOT NULL UNIQUE REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  state        TEXT NOT NULL,
  effects      TEXT NOT NULL,
  PRIMARY KEY (session_id, request_hash)
) STRICT, WITHOUT ROWID;

-- Keys that never leave this file.
CREATE TABLE ledger_keys (
  name TEXT PRIMARY KEY NOT NULL,
  key  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
