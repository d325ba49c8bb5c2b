-- Schema version 4: the runs of a delivery are found by their links, also those that had another content.
CREATE INDEX ledger_events_delivery ON ledger_events (session_id, body ->> '$.delivery', seq)
  WHERE event IN ('reserved', 'taken_over');
