//! What may be done: `catalog.toml`, and how a [`Task`](crate::task::Task) becomes a [`Job`].
//!
//! The file is read strictly, but only the entries a task names are compiled: an unknown key or a
//! wrong type is an error with file, line and nearest name. [`check()`] compiles all of it and collects
//! what is wrong.

mod bind;
mod check;
mod compile;
mod configure;
mod document;
mod entry;
mod fill;
mod input;
mod job;
mod outputs;
mod plain;
mod raw;
mod resolve;
mod schema;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use check::{About, Checked, check};
pub(crate) use document::Catalog;
pub(crate) use entry::{
    Entry, FailureRule, OnFailure, OutputSchemaRule, Repeatable, ResultKind, RuleScope, Take,
};
pub(crate) use job::{Delivery, Job, Places, Step, StepOutput};
pub(crate) use resolve::resolve;
pub(crate) use schema::{Misfit, Schema, Values};
pub(crate) use server::{PrivateNetwork, Server, ServerProtocol};
