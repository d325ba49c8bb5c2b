//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.
//!
//! The rooms, in reading order:
//!
//! | room | what it knows |
//! |---|---|
//! | [`cli`] | the door: flags, stdin, stdout, exit codes |
//! | [`perform`] | the way of a task, as a table of contents |
//! | [`record`] | what was done: kept beside a run, and for people looked at, decided about, done again |
//! | `doctor` | whether what a run needs is there: findings, each with its remedy |
//! | [`task`] | the words: `Task`, `Outcome`, `Fault` (the one error table), `Uri`, `Format` |
//! | [`envelope`] | JSON in, JSON out: strict reader, dialects, projections |
//! | `catalog` | what may be done: `catalog.toml`, and how a task becomes a job |
//! | `inputs` | whether the inputs are there |
//! | `ledger` | what was done: is it the same request, may it be answered from the record, the chain |
//! | `executor` | how it is done: call, judge, take, check, store |
//! | `plan` | file plans: a list of changes, all made or none |
//! | `selftest` | whether file plans are all or nothing here: killed, failed, recovered, compared |
//! | `mcp` | one tool call over MCP, and no process left behind |
//! | `assets` | where bytes live: store, scratch directory, content checks |
//! | `servers` | tool servers inside the binary (`oneact serve`) |
//! | [`host`] | clock, ids, environment, signals |
//! | `fuzz` | what fuzzing runs; not in the binary |
//!
//! Invariants, held by types and tests:
//!
//! 1. stdout carries exactly one JSON document, written once, by `cli`. In `serve` it belongs to
//!    the protocol.
//! 2. `task` and `envelope` do no I/O. Only `host` reads the clock, randomness and the environment.
//! 3. An asset's final place never holds a partial file. Files are made and checked in the run's
//!    scratch directory and moved when the whole task is good. A file plan changes nothing before its
//!    checkpoint is on the disk.
//! 4. Only `assets`, `plan` and the tools of `servers` write files; `executor` moves files within the
//!    scratch directory. Four exceptions: `cli` writes the catalog of `oneact init` and the page of
//!    `oneact replay --html` (`cli/replay.rs`), `mcp` writes notes about servers, `selftest` writes in
//!    its own directory. Only `ledger` writes the ledger, and only `record` calls it.
//! 5. Every failure has a `Fault`. Exit code and envelope are functions of it.
//! 6. Secrets appear in no envelope, ledger row, report or log. Secrets are values passed on from the
//!    environment and values at `secret` pointers. Signatures in links appear only in a result that is
//!    itself a link. The echo of the task is the caller's own and is returned as received. So are its
//!    ids.
//! 7. A child process, and its process group, never outlives the run.
//! 8. Recovery and rollback change nothing that a plan of this user could not change. On their own they
//!    act only on journals that were written where they are.

mod assets;
mod catalog;
pub mod cli;
mod doctor;
pub mod envelope;
mod executor;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzz;
pub mod host;
mod inputs;
mod ledger;
mod mcp;
pub mod perform;
mod plan;
pub mod record;
mod selftest;
mod servers;
pub mod task;
