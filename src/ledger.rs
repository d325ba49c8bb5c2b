//! What was done: the record of every answer (specification 004).
//!
//! A request is the same as another by its hash ([`request`]); an answer may be given again where the
//! record says that it is still good; and every link of the [`chain`] holds the hash of the one before.
//! Nothing but `perform` and the commands for people calls it: executors have no handle to it
//! (R-004-49, R-004-50).

mod canonical;
mod chain;
mod record;
mod request;
mod store;
