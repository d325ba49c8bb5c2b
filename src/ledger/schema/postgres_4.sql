-- Schema version 4: a request waits for an approval, and people approve or deny it. Each step of a task has a row of its
-- own.
ALTER TABLE public.ledger_events DROP CONSTRAINT ledger_events_event_check;
ALTER TABLE public.ledger_events ADD CONSTRAINT ledger_events_event_check CHECK (event IN ('genesis', 'rejected',
  'pending', 'reserved', 'dispatched', 'taken_over', 'succeeded', 'failed', 'rolled_back', 'cancelled', 'unknown',
  'resolved', 'replayed', 'reused', 'suppressed', 'late', 'reviewed', 'revoked', 'pruned', 'keyed',
  'approval_requested', 'approved', 'denied'));
CREATE INDEX ledger_events_asked ON public.ledger_events (seq) WHERE event = 'approval_requested';
ALTER TABLE public.agent_actions
  ADD COLUMN parent text COLLATE "C",                   -- the operation of the task
  ADD COLUMN position bigint,                           -- from 1
  ADD CONSTRAINT oneact_part CHECK ((parent IS NULL) = (position IS NULL));
CREATE INDEX agent_actions_parent ON public.agent_actions (parent) WHERE parent IS NOT NULL;
