-- Schema version 2: the links decide whether a request was done, so they are found by it; and a row is revoked or
-- pruned only where a link says so.

-- A body is canonical JSON: within a text of it, quotation marks stand behind a backslash.
CREATE FUNCTION public.oneact_request(body text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT pg_catalog.substring(body, '"request_hash":"([^"\\]*)"')
$$;
CREATE INDEX ledger_events_request ON public.ledger_events (session_id, public.oneact_request(body), seq)
  WHERE event NOT IN ('replayed', 'reused', 'suppressed');
CREATE INDEX ledger_events_keyed ON public.ledger_events (seq) WHERE event = 'keyed';
CREATE INDEX ledger_events_pruned ON public.ledger_events (seq) WHERE event = 'pruned';

CREATE OR REPLACE FUNCTION public.oneact_row_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
DECLARE
  free CONSTANT text[] := ARRAY['request', 'request_text', 'response', 'response_text', 'revoked_by'];
BEGIN
  IF to_jsonb(NEW) - free IS DISTINCT FROM to_jsonb(OLD) - free
     OR (NEW.request IS NOT NULL AND NEW.request IS DISTINCT FROM OLD.request)
     OR (NEW.request_text IS NOT NULL AND NEW.request_text IS DISTINCT FROM OLD.request_text)
     OR (NEW.response IS NOT NULL AND NEW.response IS DISTINCT FROM OLD.response)
     OR (NEW.response_text IS NOT NULL AND NEW.response_text IS DISTINCT FROM OLD.response_text)
     OR (OLD.revoked_by IS NOT NULL AND NEW.revoked_by IS DISTINCT FROM OLD.revoked_by) THEN
    RAISE EXCEPTION 'update of agent_actions is refused: a row may only be pruned or revoked';
  END IF;
  IF NEW.revoked_by IS DISTINCT FROM OLD.revoked_by AND NOT EXISTS (
    SELECT 1 FROM public.ledger_events
    WHERE seq = NEW.revoked_by AND event = 'revoked' AND body::json ->> 'about' = OLD.id::text) THEN
    RAISE EXCEPTION 'row % is not revoked: link % does not say so', OLD.id, NEW.revoked_by;
  END IF;
  IF (NEW.request, NEW.request_text, NEW.response, NEW.response_text) IS DISTINCT FROM
     (OLD.request, OLD.request_text, OLD.response, OLD.response_text) AND OLD.id::text NOT IN (
    SELECT json_array_elements_text(newest.body::json -> 'rows') FROM (
      SELECT body FROM public.ledger_events WHERE event = 'pruned' ORDER BY seq DESC LIMIT 1) newest) THEN
    RAISE EXCEPTION 'row % is not pruned: the newest link about pruning does not say so', OLD.id;
  END IF;
  RETURN NEW;
END $$;

DO $$ BEGIN
  IF to_regrole('oneact_writer') IS NOT NULL THEN
    GRANT EXECUTE ON FUNCTION public.oneact_request TO oneact_writer;
  END IF;
  IF to_regrole('oneact_reader') IS NOT NULL THEN
    GRANT EXECUTE ON FUNCTION public.oneact_request TO oneact_reader;
  END IF;
END $$;
