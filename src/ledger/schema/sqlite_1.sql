-- The ledger of oneact in SQLite, schema version 1 (specification 004). Whether a word is one of several is asked
-- with instr(): for IN, SQLite fills a table of its own each time. There are no triggers: every opening would read
-- them, and whoever can write the file can drop them. What only a transaction can see is refused by the program;
-- what is changed by another, `oneact verify` finds.

-- What was applied to this file, and what its text was.
CREATE TABLE schema_migrations (
  version        INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,
  checksum       TEXT NOT NULL,              -- SHA-256 of the text
  oneact_version TEXT NOT NULL,
  applied_at     TEXT NOT NULL
) STRICT;

-- Who may use a session is fixed by whoever opened it.
CREATE TABLE sessions (
  session_id TEXT PRIMARY KEY NOT NULL,
  context    TEXT NOT NULL CHECK (instr(
               '|AGENT_CONVERSATION|AGENT_AUTONOMOUS|FSM_INTERNAL|ACTION_PROPOSAL|USER_INVOCATION|',
               '|' || context || '|')),
  profile    TEXT NOT NULL,
  principal  TEXT NOT NULL,
  next_step  INTEGER NOT NULL CHECK (next_step >= 0),
  opened_at  TEXT NOT NULL
) STRICT;

-- The chain: what happened, in hashes and names. Each link holds the hash of the one before.
CREATE TABLE ledger_events (
  seq          INTEGER PRIMARY KEY CHECK (seq >= 0),   -- gapless
  operation_id TEXT NOT NULL,
  session_id   TEXT NOT NULL,
  event        TEXT NOT NULL CHECK (instr(
                 '|genesis|rejected|pending|reserved|dispatched|taken_over|succeeded|failed|rolled_back|cancelled|unknown'
                 || '|resolved|replayed|reused|suppressed|late|reviewed|revoked|pruned|',
                 '|' || event || '|')),
  at           TEXT NOT NULL,                -- RFC 3339, UTC, milliseconds
  actor        TEXT NOT NULL,
  body         TEXT NOT NULL CHECK (json_valid(body) AND length(CAST(body AS BLOB)) <= 4096),
  prev_hash    TEXT NOT NULL CHECK (length(prev_hash) = 64),
  entry_hash   TEXT NOT NULL CHECK (length(entry_hash) = 64)
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
  outcome          TEXT CHECK (outcome IN ('success', 'error') OR state IS NULL),
  request          TEXT CHECK (json_valid(request) OR state IS NULL),              -- none after pruning
  request_hash     TEXT NOT NULL CHECK (length(request_hash) = 71 OR state IS NULL),
  response         TEXT CHECK (json_valid(response) OR state IS NULL),             -- none after pruning
  confidence_score REAL CHECK (confidence_score BETWEEN 0 AND 1 OR state IS NULL),
  session_id       TEXT NOT NULL,
  step_index       INTEGER NOT NULL CHECK (step_index >= 0),
  timestamp        TEXT NOT NULL,
  -- added by oneact
  state            TEXT CHECK (instr(
                     '|done|partial|failed|rolled_back|cancelled|unknown|rejected|pending|reused|suppressed|replayed|late|',
                     '|' || state || '|')),
  operation_id     TEXT NOT NULL,
  request_id       TEXT,
  idempotency_key  TEXT,
  task_id          TEXT,
  attempt          INTEGER NOT NULL CHECK (attempt >= 0),
  entry_version    TEXT,
  entry_digest     TEXT,
  tool_pin         TEXT,
  oneact_version   TEXT NOT NULL,
  inputs_hash      TEXT,                               -- specification 004's own, of the inputs alone
  input_ids        TEXT CHECK (json_valid(input_ids)),
  output_ids       TEXT CHECK (json_valid(output_ids)),
  adjusted         TEXT CHECK (json_valid(adjusted)),  -- what a retry changed
  reused_from      TEXT REFERENCES agent_actions (id),
  reason           TEXT,
  fault            TEXT,
  started_at       TEXT NOT NULL,
  duration_ms      INTEGER NOT NULL CHECK (duration_ms >= 0),
  request_sha256   TEXT NOT NULL,                      -- both stay after pruning, and are in the link's body
  response_sha256  TEXT NOT NULL,
  seq              INTEGER UNIQUE REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  revoked_by       INTEGER REFERENCES ledger_events (seq) DEFERRABLE INITIALLY DEFERRED,
  CHECK ((state IS NULL) = (seq IS NULL)),
  CHECK (state IS NULL OR outcome IS NOT NULL),
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
  state        TEXT NOT NULL CHECK (instr('|reserved|dispatched|unknown|', '|' || state || '|')),
  effects      TEXT NOT NULL CHECK (instr('|none|idempotent|once|', '|' || effects || '|')),
  PRIMARY KEY (session_id, request_hash)
) STRICT, WITHOUT ROWID;

-- Keys that never leave this file.
CREATE TABLE ledger_keys (
  name TEXT PRIMARY KEY NOT NULL,
  key  BLOB NOT NULL CHECK (length(key) = 32)
) STRICT, WITHOUT ROWID;

-- For people with sqlite3.
CREATE VIEW history AS
SELECT seq, timestamp, session_id, step_index, task_id, attempt, action_type, state, outcome, reason, fault,
       duration_ms, substr(request_hash, 8, 12) AS hash, reused_from, revoked_by
FROM agent_actions;
