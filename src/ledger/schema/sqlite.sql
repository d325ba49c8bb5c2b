-- The ledger of oneact in SQLite (specification 004). Every opening reads these texts, and every statement that writes
-- compiles what they ask for. So the program checks what a record must be, and `oneact verify` finds what another program
-- has changed.

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

-- The chains, one for each session: what happened, in hashes and names. Each link holds the hash of the one before it in its
-- session, or of the newest knot if that is newer. Knots have no session.
CREATE TABLE ledger_events (
  seq          INTEGER PRIMARY KEY,          -- gapless, from 1
  operation_id TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  number       INTEGER NOT NULL,             -- in its session: gapless, from 0
  event        TEXT NOT NULL,
  at           TEXT NOT NULL,                -- RFC 3339, UTC, milliseconds
  actor        TEXT NOT NULL,
  body         TEXT NOT NULL,
  prev_hash    TEXT NOT NULL,
  entry_hash   TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX ledger_events_session ON ledger_events (session_id, number);

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
  pruned           INTEGER REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  parent           TEXT,                               -- of a step: the operation of its task
  position         INTEGER,                            -- from 1
  UNIQUE (session_id, step_index)
) STRICT;

CREATE INDEX agent_actions_request ON agent_actions (session_id, request_hash, seq)
  WHERE outcome = 'success' AND state IN ('done', 'partial');
CREATE INDEX agent_actions_task ON agent_actions (session_id, task_id, seq);
CREATE INDEX agent_actions_delivery ON agent_actions (session_id, task_id, request_id, seq)
  WHERE state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed');
CREATE INDEX agent_actions_key ON agent_actions (session_id, idempotency_key, seq)
  WHERE idempotency_key IS NOT NULL AND state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed');
CREATE INDEX agent_actions_operation ON agent_actions (operation_id);
CREATE INDEX agent_actions_reused_from ON agent_actions (reused_from) WHERE reused_from IS NOT NULL;
CREATE INDEX agent_actions_parent ON agent_actions (parent) WHERE parent IS NOT NULL;

-- Which run performs a request, and what became of it.
CREATE TABLE claims (
  seq          INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  session_id   TEXT NOT NULL,
  claimed      TEXT NOT NULL,                -- the request; if duplicates are repeated, the delivery or the operation
  request_hash TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  delivery     TEXT,
  attempt      INTEGER NOT NULL,
  task_id      TEXT,
  began        INTEGER NOT NULL,
  effects      TEXT NOT NULL,
  action       TEXT,
  home         TEXT,
  entry_digest TEXT,
  fence        TEXT,                        -- the action, the same in all sessions
  reason       TEXT,
  claimed_at   TEXT NOT NULL,
  state        TEXT NOT NULL,
  under        TEXT,
  sent         INTEGER,
  changed      INTEGER,
  ended        INTEGER                       -- none while it is open
) STRICT;

-- One run performs a request, or a delivery, at a time.
CREATE UNIQUE INDEX claims_open ON claims (session_id, claimed) WHERE ended IS NULL;
CREATE INDEX claims_request ON claims (session_id, request_hash, seq);
CREATE INDEX claims_delivery ON claims (session_id, delivery, seq) WHERE delivery IS NOT NULL;
CREATE INDEX claims_operation ON claims (operation_id);
CREATE INDEX claims_changed ON claims (session_id, changed) WHERE changed IS NOT NULL;
CREATE INDEX claims_fence ON claims (fence) WHERE fence IS NOT NULL AND ended IS NULL;
CREATE INDEX claims_under ON claims (under) WHERE under IS NOT NULL;

-- What people are asked for, and what they decided.
CREATE TABLE approvals (
  seq          INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  id           TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  request_hash TEXT NOT NULL,
  task_id      TEXT,
  root         TEXT,
  row_id       TEXT NOT NULL,
  asked_by     TEXT NOT NULL,
  asked_at     TEXT NOT NULL,
  asked        TEXT NOT NULL,
  used         INTEGER,
  ended        INTEGER
) STRICT;
CREATE INDEX approvals_request ON approvals (session_id, request_hash, seq);
CREATE INDEX approvals_id ON approvals (id);
CREATE INDEX approvals_open ON approvals (asked_by, seq) WHERE ended IS NULL;

CREATE TABLE votes (
  seq       INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  row_id    TEXT NOT NULL REFERENCES agent_actions (id) DEFERRABLE INITIALLY DEFERRED,
  answer    TEXT NOT NULL,
  actor     TEXT NOT NULL,
  signature TEXT,
  host      TEXT,
  at        TEXT NOT NULL,
  note      TEXT
) STRICT;
CREATE INDEX votes_row ON votes (row_id, seq);

CREATE TABLE grants (
  seq          INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  operation_id TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  row_id       TEXT NOT NULL UNIQUE REFERENCES agent_actions (id) DEFERRABLE INITIALLY DEFERRED,
  home         TEXT,
  granted      TEXT NOT NULL
) STRICT;

CREATE TABLE reviews (
  seq        INTEGER PRIMARY KEY REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  session_id TEXT NOT NULL,
  row_id     TEXT NOT NULL REFERENCES agent_actions (id) DEFERRABLE INITIALLY DEFERRED,
  state      TEXT NOT NULL,
  actor      TEXT NOT NULL,
  at         TEXT NOT NULL
) STRICT;
CREATE INDEX reviews_row ON reviews (row_id, seq);
CREATE INDEX reviews_session ON reviews (session_id, seq);

-- Keys that never leave this file.
CREATE TABLE ledger_keys (
  name TEXT PRIMARY KEY NOT NULL,
  key  BLOB NOT NULL
) STRICT, WITHOUT ROWID;
