-- Schema version 5: the runs of a delivery are found by their links, also those that had another content.

-- A body is canonical JSON: within a text of it, quotation marks stand behind a backslash.
CREATE FUNCTION public.oneact_delivery(body text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT pg_catalog.substring(body, '"delivery":"([^"\\]*)"')
$$;
CREATE INDEX ledger_events_delivery ON public.ledger_events (session_id, public.oneact_delivery(body), seq)
  WHERE event IN ('reserved', 'taken_over');

DO $$ BEGIN
  IF to_regrole('oneact_writer') IS NOT NULL THEN
    GRANT EXECUTE ON FUNCTION public.oneact_delivery TO oneact_writer;
  END IF;
  IF to_regrole('oneact_reader') IS NOT NULL THEN
    GRANT EXECUTE ON FUNCTION public.oneact_delivery TO oneact_reader;
  END IF;
END $$;
