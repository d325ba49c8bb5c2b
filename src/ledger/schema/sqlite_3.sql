-- Schema version 3: requests for approval are listed without a search of the whole chain.
CREATE INDEX ledger_events_asked ON ledger_events (seq) WHERE event = 'approval_requested';
