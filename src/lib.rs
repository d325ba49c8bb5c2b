//! oneact performs one agent action: one JSON task on stdin, one JSON result on stdout.
//!
//! The rooms, in reading order:
//!
//! | room | what it knows |
//! |---|---|
//! | [`cli`] | the door: flags, stdin, stdout, exit codes |
//! | [`perform`] | the way of a task, as a table of contents |
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
//! 2. `task` and `envelope` do no I/O. Only `host` reads clock, randomness and environment.
//! 3. Nothing half-written is ever at an asset's final place: files are made and checked in the
//!    run's scratch directory, and moved when the whole task is good.
//! 4. Only `assets`, `plan` and the tools of `servers` write files; `executor` moves them within scratch.
//!    `cli` writes one: the catalog of `oneact init`, where none is; `mcp` keeps notes of the servers it
//!    met; `selftest` has a directory of its own while it runs.
//!    Only `ledger` writes the ledger, and only `perform` calls it.
//! 5. Every failure has a `Fault`; exit code and envelope are functions of it.
//! 6. Secrets (values handed on from the environment, `secret` pointers) appear in no envelope or
//!    log, presign parts in nothing but a result that is itself a URL; the echo of the task is the
//!    caller's own.
//! 7. A child process never outlives the run, nor does its group.
//! 8. Recovery and rollback change nothing that a plan of this user could not change; by themselves they act
//!    only on journals that were written where they lie.

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
mod selftest;
mod servers;
pub mod task;
