-- Schema version 3: the functions of triggers find nothing in a search path of the caller's, and rows from before
-- oneact are as they were for whoever may only write the ledger.

ALTER FUNCTION public.oneact_next_link() SET search_path = pg_catalog;
ALTER FUNCTION public.oneact_keep() SET search_path = pg_catalog;
ALTER FUNCTION public.oneact_fill() SET search_path = pg_catalog;
ALTER FUNCTION public.oneact_jsonb(text) SET search_path = pg_catalog;

-- Programs that wrote such rows may change them: they have rights on the whole table.
CREATE FUNCTION public.oneact_history() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog AS $$
BEGIN
  IF NOT has_table_privilege(TG_RELID, 'UPDATE') THEN
    RAISE EXCEPTION 'update of agent_actions is refused: row % is from before oneact', OLD.id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER history BEFORE UPDATE ON public.agent_actions
  FOR EACH ROW WHEN (OLD.seq IS NULL) EXECUTE FUNCTION public.oneact_history();
