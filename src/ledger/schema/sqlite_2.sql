-- Schema version 2: the links decide whether a request was done, so they are found by it. That an answer was given
-- again decides nothing.
CREATE INDEX ledger_events_request ON ledger_events (session_id, body ->> '$.request_hash', seq)
  WHERE event NOT IN ('replayed', 'reused', 'suppressed');
CREATE INDEX ledger_events_keyed ON ledger_events (seq) WHERE event = 'keyed';
