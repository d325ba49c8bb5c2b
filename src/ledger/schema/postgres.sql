-- The ledger in PostgreSQL (13 or later). Run once, in one transaction, by the first program that opens the database for
-- writing and may create tables in it.

-- What is no ledger, and cannot become one.
DO $$
DECLARE
  why text;
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'its encoding is not UTF8' USING ERRCODE = 'duplicate_object';
  END IF;
  IF to_regclass('public.agent_actions') IS NULL THEN RETURN; END IF;
  SELECT format('it has no column %s', wanted) INTO why
    FROM unnest(ARRAY['id', 'agent_name', 'action_type', 'target_type', 'target_id', 'outcome', 'confidence_score',
      'session_id', 'timestamp']) wanted
    WHERE NOT EXISTS (SELECT 1 FROM pg_catalog.pg_attribute
      WHERE attrelid = 'public.agent_actions'::regclass AND attname = wanted AND NOT attisdropped) LIMIT 1;
  IF why IS NULL THEN
    SELECT format('%s is required, but oneact does not write it', attname) INTO why FROM pg_catalog.pg_attribute
      WHERE attrelid = 'public.agent_actions'::regclass AND attnum > 0 AND NOT attisdropped
        AND attnotnull AND NOT atthasdef AND attidentity = ''
        AND attname NOT IN ('id', 'agent_name', 'action_type', 'target_type', 'target_id', 'outcome', 'confidence_score',
          'session_id', 'timestamp', 'response', 'payload', 'request', 'input', 'request_hash', 'input_hash', 'step_index')
      LIMIT 1;
  END IF;
  IF why IS NOT NULL THEN
    RAISE EXCEPTION 'its table agent_actions is not the one of specification 004: %', why USING ERRCODE = 'duplicate_table';
  END IF;
END $$;

-- Links: append only. Each session has a chain. Each link holds the hash of the one before it in its session, or of the
-- newest knot if that is newer. Knots have no session.
CREATE SEQUENCE public.oneact_links;
CREATE TABLE public.ledger_events (
  seq bigint PRIMARY KEY CHECK (seq > 0),               -- of the sequence
  operation_id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  number bigint NOT NULL CHECK (number >= 0),           -- in its session: gapless
  event text NOT NULL CHECK (event IN ('tied', 'rejected', 'pending', 'reserved', 'dispatched', 'taken_over',
    'succeeded', 'failed', 'rolled_back', 'cancelled', 'unknown', 'resolved', 'replayed', 'reused', 'suppressed',
    'late', 'reviewed', 'revoked', 'pruned', 'keyed', 'approval_requested', 'approved', 'denied')),
  at text NOT NULL,                                     -- hashed byte for byte
  actor text NOT NULL,
  body text NOT NULL CHECK (octet_length(body) <= 4096 AND body::json IS NOT NULL),
  prev_hash text NOT NULL CHECK (prev_hash ~ '^[0-9a-f]{64}$'),
  entry_hash text NOT NULL CHECK (entry_hash ~ '^[0-9a-f]{64}$'),
  CONSTRAINT ledger_events_session UNIQUE (session_id, number)
);

CREATE FUNCTION public.oneact_next_link() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
DECLARE
  own record;
  knot record;
BEGIN
  -- As every writer; others may have forgotten it.
  IF NEW.session_id = '' THEN
    PERFORM pg_catalog.pg_advisory_xact_lock(3414291467500257280);
  ELSE
    PERFORM pg_catalog.pg_advisory_xact_lock_shared(3414291467500257280);
    PERFORM pg_catalog.pg_advisory_xact_lock(12130, pg_catalog.hashtext(NEW.session_id));
  END IF;
  SELECT seq, number, entry_hash INTO own FROM public.ledger_events
    WHERE session_id = NEW.session_id ORDER BY number DESC LIMIT 1;
  SELECT seq, entry_hash INTO knot FROM public.ledger_events WHERE session_id = '' ORDER BY number DESC LIMIT 1;
  IF NEW.number <> COALESCE(own.number + 1, 0) THEN
    RAISE EXCEPTION 'link % of its session is not the next one, which is %', NEW.number, COALESCE(own.number + 1, 0);
  END IF;
  IF NEW.seq <= GREATEST(own.seq, knot.seq) THEN
    RAISE EXCEPTION 'link % does not follow the one before, which is %', NEW.seq, GREATEST(own.seq, knot.seq);
  END IF;
  IF NEW.prev_hash <> COALESCE(CASE WHEN own.seq > COALESCE(knot.seq, 0) THEN own.entry_hash ELSE knot.entry_hash END,
                               repeat('0', 64)) THEN
    RAISE EXCEPTION 'link % does not hold the hash of the one before', NEW.seq;
  END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION public.oneact_keep() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  RAISE EXCEPTION '% of % is refused: what is recorded stays', lower(TG_OP), TG_TABLE_NAME;
END $$;
CREATE TRIGGER next_link BEFORE INSERT ON public.ledger_events
  FOR EACH ROW EXECUTE FUNCTION public.oneact_next_link();
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON public.ledger_events
  FOR EACH ROW EXECUTE FUNCTION public.oneact_keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON public.ledger_events
  FOR EACH STATEMENT EXECUTE FUNCTION public.oneact_keep();

-- Rows. `uuid_generate_v4` is an extension's; where it cannot be had, PostgreSQL's own stands in.
DO $$ BEGIN
  IF to_regprocedure('uuid_generate_v4()') IS NULL THEN
    BEGIN
      CREATE EXTENSION IF NOT EXISTS "uuid-ossp";
    EXCEPTION WHEN OTHERS THEN
      CREATE FUNCTION public.uuid_generate_v4() RETURNS uuid LANGUAGE sql AS 'SELECT pg_catalog.gen_random_uuid()';
    END;
  END IF;
END $$;

-- Specification 004's 'Updated Schema', word for word ...
CREATE TABLE IF NOT EXISTS public.agent_actions (
  id uuid PRIMARY KEY DEFAULT uuid_generate_v4(),
  agent_name text,
  action_type text,
  target_type text,
  target_id uuid,
  outcome text,
  request jsonb,        -- structured inputs
  request_hash text,     -- hash of normalized inputs
  response jsonb,        -- result in MCPResponse format
  confidence_score numeric,
  session_id uuid,
  step_index integer,    -- index in session loop
  timestamp timestamptz DEFAULT now()
);

-- ... and what leads to it from its 'Current Schema': the old rows stay.
DO $$
DECLARE
  had text[] := ARRAY(SELECT attname::text FROM pg_catalog.pg_attribute
    WHERE attrelid = 'public.agent_actions'::regclass AND attnum > 0 AND NOT attisdropped);
BEGIN
  IF 'payload' = ANY (had) AND NOT 'response' = ANY (had) THEN
    ALTER TABLE public.agent_actions RENAME COLUMN payload TO response;
  END IF;
  IF 'input' = ANY (had) AND NOT 'request' = ANY (had) THEN
    ALTER TABLE public.agent_actions RENAME COLUMN input TO request;
  END IF;
  IF 'input_hash' = ANY (had) AND NOT 'request_hash' = ANY (had) THEN
    ALTER TABLE public.agent_actions RENAME COLUMN input_hash TO request_hash;
  END IF;
END $$;
ALTER TABLE public.agent_actions
  ADD COLUMN IF NOT EXISTS request jsonb,
  ADD COLUMN IF NOT EXISTS request_hash text,
  ADD COLUMN IF NOT EXISTS response jsonb,
  ADD COLUMN IF NOT EXISTS step_index integer,
  -- Ours. Rows of before have no state and no link: they are history, and are never given as an answer.
  ADD COLUMN IF NOT EXISTS session_key text COLLATE "C",   -- ids that are no uuids; the uuid column has their version 5
  ADD COLUMN IF NOT EXISTS target_key text,
  ADD COLUMN IF NOT EXISTS request_text text,              -- byte for byte, which jsonb cannot
  ADD COLUMN IF NOT EXISTS response_text text,
  ADD COLUMN IF NOT EXISTS state text,
  ADD COLUMN IF NOT EXISTS operation_id text COLLATE "C",
  ADD COLUMN IF NOT EXISTS request_id text,
  ADD COLUMN IF NOT EXISTS idempotency_key text,
  ADD COLUMN IF NOT EXISTS task_id text COLLATE "C",
  ADD COLUMN IF NOT EXISTS attempt bigint,
  ADD COLUMN IF NOT EXISTS entry_version text,
  ADD COLUMN IF NOT EXISTS entry_digest text,
  ADD COLUMN IF NOT EXISTS tool_pin text,
  ADD COLUMN IF NOT EXISTS oneact_version text,
  ADD COLUMN IF NOT EXISTS inputs_hash text,
  ADD COLUMN IF NOT EXISTS input_ids text,
  ADD COLUMN IF NOT EXISTS output_ids text,
  ADD COLUMN IF NOT EXISTS adjusted text,
  ADD COLUMN IF NOT EXISTS reused_from uuid REFERENCES public.agent_actions (id),
  ADD COLUMN IF NOT EXISTS reason text,
  ADD COLUMN IF NOT EXISTS fault text,
  ADD COLUMN IF NOT EXISTS started_at timestamptz,
  ADD COLUMN IF NOT EXISTS duration_ms bigint,
  ADD COLUMN IF NOT EXISTS request_sha256 text,
  ADD COLUMN IF NOT EXISTS response_sha256 text,
  ADD COLUMN IF NOT EXISTS seq bigint REFERENCES public.ledger_events (seq),
  ADD COLUMN IF NOT EXISTS revoked_by bigint REFERENCES public.ledger_events (seq),
  ADD COLUMN IF NOT EXISTS pruned bigint REFERENCES public.ledger_events (seq),
  ADD COLUMN IF NOT EXISTS parent text COLLATE "C",        -- of a step: the operation of its task
  ADD COLUMN IF NOT EXISTS position bigint,                -- from 1
  ADD CONSTRAINT oneact_part CHECK ((parent IS NULL) = (position IS NULL)),
  ADD CONSTRAINT oneact_whole CHECK ((state IS NULL) = (seq IS NULL)),
  ADD CONSTRAINT oneact_state CHECK (state IN ('done', 'partial', 'failed', 'rolled_back', 'cancelled', 'unknown',
    'rejected', 'pending', 'reused', 'suppressed', 'replayed', 'late')),
  ADD CONSTRAINT oneact_row CHECK (seq IS NULL OR (num_nulls(outcome, request_hash, session_id, step_index, timestamp,
    operation_id, attempt, oneact_version, started_at, duration_ms, request_sha256, response_sha256) = 0
    AND outcome IN ('success', 'error') AND request_hash ~ '^sha256:[0-9a-f]{64}$' AND step_index >= 0
    AND coalesce(confidence_score BETWEEN 0 AND 1, true))),
  ADD CONSTRAINT oneact_json CHECK (seq IS NULL OR ((request_text IS NULL OR request_text::json IS NOT NULL)
    AND (response_text IS NULL OR response_text::json IS NOT NULL) AND (input_ids IS NULL OR input_ids::json IS NOT NULL)
    AND (output_ids IS NULL OR output_ids::json IS NOT NULL) AND (adjusted IS NULL OR adjusted::json IS NOT NULL)));

-- Rows of before are counted by their time, after those of their session that are counted already.
WITH counted AS (
  SELECT a.id, COALESCE(last.step, -1) + row_number() OVER (PARTITION BY a.session_id ORDER BY a.timestamp, a.id) AS step
  FROM public.agent_actions a
  LEFT JOIN (SELECT session_id, max(step_index) AS step FROM public.agent_actions GROUP BY session_id) last
    ON last.session_id IS NOT DISTINCT FROM a.session_id
  WHERE a.step_index IS NULL)
UPDATE public.agent_actions a SET step_index = counted.step FROM counted WHERE counted.id = a.id;

CREATE UNIQUE INDEX agent_actions_seq ON public.agent_actions (seq DESC NULLS LAST);
CREATE UNIQUE INDEX agent_actions_step ON public.agent_actions (COALESCE(session_key, session_id::text), step_index)
  WHERE seq IS NOT NULL;
CREATE INDEX agent_actions_session
  ON public.agent_actions (COALESCE(session_key, session_id::text), step_index NULLS FIRST);
CREATE INDEX agent_actions_task ON public.agent_actions (COALESCE(session_key, session_id::text), task_id, seq DESC NULLS LAST);
CREATE INDEX agent_actions_delivery
  ON public.agent_actions (COALESCE(session_key, session_id::text), task_id, seq DESC NULLS LAST)
  WHERE state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed');
CREATE INDEX agent_actions_operation ON public.agent_actions (operation_id);
CREATE INDEX agent_actions_reused ON public.agent_actions (reused_from, seq DESC NULLS LAST)
  WHERE reused_from IS NOT NULL;
CREATE INDEX agent_actions_parent ON public.agent_actions (parent) WHERE parent IS NOT NULL;
CREATE INDEX agent_actions_request
  ON public.agent_actions (COALESCE(session_key, session_id::text), request_hash, seq DESC NULLS LAST)
  WHERE outcome = 'success' AND state IN ('done', 'partial');
-- By hash: a caller's key may be longer than a b-tree takes.
CREATE INDEX agent_actions_key ON public.agent_actions USING hash (idempotency_key)
  WHERE idempotency_key IS NOT NULL AND state IN ('done', 'partial', 'failed', 'rolled_back', 'reused', 'suppressed');

-- What jsonb can keep of a JSON text: it has no U+0000. None where it can keep nothing.
CREATE FUNCTION public.oneact_jsonb(json text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog AS $$
BEGIN
  IF position('\u0000' IN json) = 0 THEN RETURN json::jsonb; END IF;
  RETURN regexp_replace(json, '(?<!\\)((?:\\\\)*)\\u0000', '\1\\ufffd', 'g')::jsonb;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR statement_too_complex THEN
  RETURN NULL;
END $$;
CREATE FUNCTION public.oneact_fill() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  IF NEW.seq IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM public.oneact_sessions WHERE session_key = COALESCE(NEW.session_key, NEW.session_id::text)) THEN
    RAISE EXCEPTION 'nobody opened the session of row %', NEW.id;
  END IF;
  IF NEW.request_text IS NOT NULL THEN NEW.request := public.oneact_jsonb(NEW.request_text); END IF;
  IF NEW.response_text IS NOT NULL THEN NEW.response := public.oneact_jsonb(NEW.response_text); END IF;
  RETURN NEW;
END $$;
CREATE FUNCTION public.oneact_row_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
DECLARE
  free CONSTANT text[] := ARRAY['request', 'request_text', 'response', 'response_text', 'revoked_by', 'pruned'];
BEGIN
  IF to_jsonb(NEW) - free IS DISTINCT FROM to_jsonb(OLD) - free
     OR (NEW.request IS NOT NULL AND NEW.request IS DISTINCT FROM OLD.request)
     OR (NEW.request_text IS NOT NULL AND NEW.request_text IS DISTINCT FROM OLD.request_text)
     OR (NEW.response IS NOT NULL AND NEW.response IS DISTINCT FROM OLD.response)
     OR (NEW.response_text IS NOT NULL AND NEW.response_text IS DISTINCT FROM OLD.response_text)
     OR (OLD.revoked_by IS NOT NULL AND NEW.revoked_by IS DISTINCT FROM OLD.revoked_by)
     OR (OLD.pruned IS NOT NULL AND NEW.pruned IS DISTINCT FROM OLD.pruned) THEN
    RAISE EXCEPTION 'update of agent_actions is refused: a row may only be pruned or revoked';
  END IF;
  RETURN NEW;
END $$;
-- Programs that wrote rows before oneact may change them: they have rights on the whole table.
CREATE FUNCTION public.oneact_history() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  IF NOT has_table_privilege(TG_RELID, 'UPDATE') THEN
    RAISE EXCEPTION 'update of agent_actions is refused: row % is from before oneact', OLD.id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER fill BEFORE INSERT ON public.agent_actions
  FOR EACH ROW EXECUTE FUNCTION public.oneact_fill();
-- Rows without a link are another program's, and none can be given one.
CREATE TRIGGER row_change BEFORE UPDATE ON public.agent_actions
  FOR EACH ROW WHEN (OLD.seq IS NOT NULL OR NEW.seq IS NOT NULL) EXECUTE FUNCTION public.oneact_row_change();
CREATE TRIGGER history BEFORE UPDATE ON public.agent_actions
  FOR EACH ROW WHEN (OLD.seq IS NULL) EXECUTE FUNCTION public.oneact_history();
CREATE TRIGGER keep BEFORE DELETE ON public.agent_actions
  FOR EACH ROW WHEN (OLD.seq IS NOT NULL) EXECUTE FUNCTION public.oneact_keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON public.agent_actions
  FOR EACH STATEMENT EXECUTE FUNCTION public.oneact_keep();

-- Who may use a session is fixed by whoever opened it, and sealed in the link that did.
CREATE TABLE public.oneact_sessions (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  session_key text COLLATE "C" NOT NULL UNIQUE,         -- as received
  session_id uuid NOT NULL,                             -- as in agent_actions
  context text NOT NULL CHECK (context IN (
    'AGENT_CONVERSATION', 'AGENT_AUTONOMOUS', 'FSM_INTERNAL', 'ACTION_PROPOSAL', 'USER_INVOCATION')),
  profile text NOT NULL,
  principal text NOT NULL,
  opened_at timestamptz NOT NULL
);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON public.oneact_sessions
  FOR EACH ROW EXECUTE FUNCTION public.oneact_keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON public.oneact_sessions
  FOR EACH STATEMENT EXECUTE FUNCTION public.oneact_keep();

-- Which run performs a request, and what became of it.
CREATE TABLE public.oneact_claims (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  session_id text COLLATE "C" NOT NULL,
  claimed text COLLATE "C" NOT NULL,        -- the request; if duplicates are repeated, the delivery or the operation
  request_hash text COLLATE "C" NOT NULL,
  operation_id text COLLATE "C" NOT NULL,
  delivery text COLLATE "C",
  attempt bigint NOT NULL,
  task_id text COLLATE "C",
  began bigint NOT NULL,
  effects text NOT NULL CHECK (effects IN ('none', 'idempotent', 'once')),
  action text,
  home text,
  entry_digest text,
  fence text COLLATE "C",                   -- the action, the same in all sessions
  reason text,
  claimed_at text NOT NULL,
  state text NOT NULL CHECK (state IN (
    'reserved', 'dispatched', 'unknown', 'succeeded', 'ended', 'taken_over', 'not_made')),
  under text COLLATE "C",
  sent bigint,
  changed bigint,
  ended bigint,                             -- none while it is open
  CHECK ((ended IS NULL) = (state IN ('reserved', 'dispatched', 'unknown')))
);
-- One run performs a request, or a delivery, at a time.
CREATE UNIQUE INDEX oneact_claims_open ON public.oneact_claims (session_id, claimed) WHERE ended IS NULL;
CREATE INDEX oneact_claims_request ON public.oneact_claims (session_id, request_hash, seq);
CREATE INDEX oneact_claims_delivery ON public.oneact_claims (session_id, delivery, seq) WHERE delivery IS NOT NULL;
CREATE INDEX oneact_claims_operation ON public.oneact_claims (operation_id);
CREATE INDEX oneact_claims_changed ON public.oneact_claims (session_id, changed) WHERE changed IS NOT NULL;
CREATE INDEX oneact_claims_fence ON public.oneact_claims (fence) WHERE fence IS NOT NULL AND ended IS NULL;
CREATE INDEX oneact_claims_under ON public.oneact_claims (under) WHERE under IS NOT NULL;

-- What people are asked for, and what they decided.
CREATE TABLE public.oneact_approvals (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  id text COLLATE "C" NOT NULL,
  session_id text COLLATE "C" NOT NULL,
  operation_id text NOT NULL,
  request_hash text COLLATE "C" NOT NULL,
  task_id text,
  root text,
  row_id text NOT NULL,
  asked_by text NOT NULL,
  asked_at text NOT NULL,
  asked text NOT NULL,
  used bigint,
  ended bigint
);
CREATE INDEX oneact_approvals_request ON public.oneact_approvals (session_id, request_hash, seq);
CREATE INDEX oneact_approvals_id ON public.oneact_approvals (id);
CREATE INDEX oneact_approvals_open ON public.oneact_approvals (asked_by, seq) WHERE ended IS NULL;

CREATE TABLE public.oneact_votes (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  row_id text COLLATE "C" NOT NULL,
  answer text NOT NULL CHECK (answer IN ('approved', 'denied')),
  actor text NOT NULL,
  signature text,
  host text,
  at text NOT NULL,
  note text
);
CREATE INDEX oneact_votes_row ON public.oneact_votes (row_id, seq);

CREATE TABLE public.oneact_grants (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  operation_id text NOT NULL,
  session_id text NOT NULL,
  row_id text NOT NULL UNIQUE,
  home text,
  granted text NOT NULL
);

CREATE TABLE public.oneact_reviews (
  seq bigint PRIMARY KEY REFERENCES public.ledger_events (seq),
  session_id text COLLATE "C" NOT NULL,
  row_id text COLLATE "C" NOT NULL,
  state text NOT NULL CHECK (state IN ('accepted', 'rejected')),
  actor text NOT NULL,
  at text NOT NULL
);
CREATE INDEX oneact_reviews_row ON public.oneact_reviews (row_id, seq);
CREATE INDEX oneact_reviews_session ON public.oneact_reviews (session_id, seq);

DO $$
DECLARE
  place text;
BEGIN
  FOREACH place IN ARRAY ARRAY['oneact_votes', 'oneact_grants', 'oneact_reviews'] LOOP
    EXECUTE format('CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON public.%I '
      'FOR EACH ROW EXECUTE FUNCTION public.oneact_keep()', place);
  END LOOP;
  FOREACH place IN ARRAY ARRAY['oneact_claims', 'oneact_approvals'] LOOP
    EXECUTE format('CREATE TRIGGER keep BEFORE DELETE ON public.%I '
      'FOR EACH ROW EXECUTE FUNCTION public.oneact_keep()', place);
  END LOOP;
  FOREACH place IN ARRAY ARRAY['oneact_votes', 'oneact_grants', 'oneact_reviews', 'oneact_claims', 'oneact_approvals'] LOOP
    EXECUTE format('CREATE TRIGGER keep_all BEFORE TRUNCATE ON public.%I '
      'FOR EACH STATEMENT EXECUTE FUNCTION public.oneact_keep()', place);
  END LOOP;
END $$;

CREATE TABLE public.oneact_keys (
  name text PRIMARY KEY,
  key bytea NOT NULL CHECK (length(key) = 32),
  made_at timestamptz NOT NULL DEFAULT now()
);
CREATE TRIGGER keep BEFORE UPDATE OR DELETE ON public.oneact_keys
  FOR EACH ROW EXECUTE FUNCTION public.oneact_keep();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON public.oneact_keys
  FOR EACH STATEMENT EXECUTE FUNCTION public.oneact_keep();
-- For those who check the ledger and may not see the key.
CREATE VIEW public.oneact_key_hashes AS
  SELECT name, encode(pg_catalog.sha256(key), 'hex') AS sha256 FROM public.oneact_keys;

CREATE TABLE public.oneact_migrations (
  version bigint PRIMARY KEY,
  name text NOT NULL,
  checksum text NOT NULL,                               -- SHA-256 of this text
  oneact_version text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- Least privilege. What the database grants to others by default is taken back, but for agent_actions,
-- which may have been here before and is only closed to PUBLIC.
DO $$
DECLARE
  given record;
BEGIN
  REVOKE ALL ON public.agent_actions FROM PUBLIC;
  FOR given IN
    SELECT DISTINCT c.oid::regclass AS place,
           CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a
    WHERE c.oid IN ('public.ledger_events'::regclass, 'public.oneact_sessions'::regclass, 'public.oneact_claims'::regclass,
                    'public.oneact_approvals'::regclass, 'public.oneact_votes'::regclass, 'public.oneact_grants'::regclass,
                    'public.oneact_reviews'::regclass, 'public.oneact_keys'::regclass, 'public.oneact_key_hashes'::regclass, 'public.oneact_migrations'::regclass)
      AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s', given.place, given.grantee);
  END LOOP;
  BEGIN
    IF to_regrole('oneact_writer') IS NULL THEN CREATE ROLE oneact_writer NOLOGIN; END IF;
    IF to_regrole('oneact_reader') IS NULL THEN CREATE ROLE oneact_reader NOLOGIN; END IF;
  EXCEPTION
    WHEN insufficient_privilege THEN RAISE NOTICE 'the roles oneact_writer and oneact_reader are not made: no right to make roles';
    WHEN duplicate_object OR unique_violation THEN NULL;   -- made in another database at the same time
  END;
  IF to_regrole('oneact_writer') IS NOT NULL THEN
    GRANT SELECT, INSERT ON public.ledger_events, public.agent_actions, public.oneact_sessions, public.oneact_keys,
      public.oneact_claims, public.oneact_approvals, public.oneact_votes, public.oneact_grants, public.oneact_reviews
      TO oneact_writer;
    GRANT UPDATE (request, request_text, response, response_text, revoked_by, pruned) ON public.agent_actions
      TO oneact_writer;
    GRANT UPDATE (state, under, sent, changed, ended) ON public.oneact_claims TO oneact_writer;
    GRANT UPDATE (used, ended) ON public.oneact_approvals TO oneact_writer;
    GRANT SELECT ON public.oneact_migrations, public.oneact_key_hashes TO oneact_writer;
    GRANT USAGE ON SEQUENCE public.oneact_links TO oneact_writer;
    GRANT EXECUTE ON FUNCTION public.oneact_jsonb TO oneact_writer;
  END IF;
  IF to_regrole('oneact_reader') IS NOT NULL THEN
    GRANT SELECT ON public.ledger_events, public.agent_actions, public.oneact_sessions, public.oneact_claims,
      public.oneact_approvals, public.oneact_votes, public.oneact_grants, public.oneact_reviews, public.oneact_migrations, public.oneact_key_hashes TO oneact_reader;
    GRANT EXECUTE ON FUNCTION public.oneact_jsonb TO oneact_reader;
  END IF;
END $$;
