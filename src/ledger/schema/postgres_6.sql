-- Schema version 6: the newest reuse of an answer is found without reading all of them.
DROP INDEX IF EXISTS public.agent_actions_reused;
CREATE INDEX agent_actions_reused ON public.agent_actions (reused_from, seq DESC NULLS LAST)
  WHERE reused_from IS NOT NULL;
