//! A ledger in memory, for tests of the rules above it.
