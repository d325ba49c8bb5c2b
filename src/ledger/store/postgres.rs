//! A ledger in PostgreSQL, for many machines.
