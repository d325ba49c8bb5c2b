//! The databases of the ledger: SQLite and PostgreSQL.
//!
//! Both share the columns of the tables ([`columns`]) and the steps of a transaction ([`tx`]). Each has its own code to open
//! it, to run statements, and to hold the locks of claims.

mod access;
mod columns;
mod ends;
mod error;
mod migrations;
mod postgres;
mod sql;
mod sqlite;
#[cfg(test)]
pub(crate) mod tests;
mod tx;

pub(in crate::ledger) use access::{Access, write_as};
pub(crate) use access::{Store, Wish, read, write, write_in};
pub(crate) use columns::Record;
pub(in crate::ledger) use columns::{ColumnType, Payloads, RuleResult, is_json, list, must, uuid};
pub(crate) use ends::NOTHING;
pub(in crate::ledger) use ends::{End, Ends};
pub(crate) use error::{Result, StoreError, Trouble};
pub(crate) use postgres::PostgresStore;
pub(crate) use sql::{Durability, Seq};
pub(in crate::ledger) use sql::{Engine, Value};
pub(crate) use sqlite::SqliteStore;
pub(in crate::ledger) use sqlite::real;
pub(crate) use tx::Tx;
