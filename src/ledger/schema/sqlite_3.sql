-- Schema version 3: requests for approval are listed without a search of the whole chain, and each step of a task has a
-- row of its own.
CREATE INDEX ledger_events_asked ON ledger_events (seq) WHERE event = 'approval_requested';
ALTER TABLE agent_actions ADD COLUMN parent TEXT;      -- the operation of the task
ALTER TABLE agent_actions ADD COLUMN position INTEGER; -- from 1
CREATE INDEX agent_actions_parent ON agent_actions (parent) WHERE parent IS NOT NULL;
