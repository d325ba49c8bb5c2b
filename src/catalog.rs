//! `catalog.toml`, and how a [`Task`](crate::task::Task) becomes a [`Job`].
//!
//! The file is read strictly: an unknown key or a wrong type is an error with file, line and nearest name. Only
//! the entries that a task names are compiled. [`check()`] compiles all entries and collects all errors.

mod application;
mod approval;
mod bind;
mod callable;
mod check;
mod code;
mod compile;
mod configuration;
mod configure;
mod cut;
mod direct;
mod document;
mod duckdb;
mod entry;
mod file_plan;
mod fill;
mod handed;
mod identity;
mod imported;
mod input;
mod job;
mod ledger;
mod lint;
mod listing;
mod outputs;
mod pipeline;
mod promote;
mod raw;
mod render;
mod resolve;
mod schema;
mod search;
mod server;
mod standard;
mod storage;
#[cfg(test)]
mod tests;
mod workflow;

pub(crate) use application::Application;
pub(crate) use approval::{ApprovalSettings, approval_settings, seal};
pub(crate) use callable::{Callable, Parameters, callable};
pub(crate) use check::{About, Checked, check};
pub(crate) use code::Code;
pub(crate) use compile::{Capability, Gated};
pub(crate) use configuration::{
    Command, Configured, KEYS as CONFIGURATION_KEYS, Start, Surroundings, given, given_url,
    project_of, read as read_configuration,
};
pub(crate) use document::{Catalog, CatalogError, Tables as CatalogTables};
pub(crate) use entry::{
    Entry, FailureRule, OnFailure, Once, Process, ResultKind, Rows, RuleScope, Take,
};
pub(crate) use file_plan::{APPLY_FILE_PLAN, FilePlan, PlanJob, PlanSource, ROLLBACK};
pub(crate) use fill::{foreseen, put, referring, supply};
pub(crate) use handed::Way;
pub(crate) use imported::{
    BEGINNING, IMPROVISE, Known, Named, RUN_APPROVED, SchemaForm, Tool, Trust, appended, one_line,
    server as first_start, server_name,
};
pub(crate) use job::{Called, Delivery, Job, Places, Step, StepOutput, Supply, ToolJob};
pub(crate) use ledger::{LedgerRule, Need, ledger_rule, only_profile, profile};
pub(crate) use lint::{Finding, Level, lint};
pub(crate) use listing::{
    Audience, Binds, Executor, INPUT_REF, Listed, Words, find, list, pipelines,
};
pub(crate) use promote::{Performed, Promoted, Said, Trace, promote};
pub(crate) use render::{Offered, ToolForm, has_standard, offered_tools, prompt, tools};
pub(crate) use resolve::{
    Nature, approval_rule, look_up, look_up_all, nature, plan_entry, resolve, unknown,
};
pub(crate) use schema::{Schema, Values};
pub(crate) use search::{Hit, Matched, search};
pub(crate) use server::{
    Bearer, Lifetime, PrivateNetwork, Remote, Server, kept_servers, of as server_of,
};
pub(crate) use standard::{enough_for, must_not_be};
pub(crate) use storage::{Storage, storage};
