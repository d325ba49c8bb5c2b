//! `catalog.toml`, and how a [`Task`](crate::task::Task) becomes a [`Job`].
//!
//! The file is read strictly: an unknown key or a wrong type is an error with file, line and nearest name. Only
//! the entries that a task names are compiled. [`check()`] compiles all entries and collects all errors.

mod entry;
mod file;
mod job;
mod people;
#[cfg(test)]
mod tests;

pub(crate) use entry::common::{Access, Common, OnFailure};
pub(crate) use entry::compile::{Capability, Gated};
pub(crate) use entry::file_plan::{APPLY_FILE_PLAN, FilePlan, ROLLBACK};
pub(crate) use entry::remote::{Bearer, Remote};
pub(crate) use entry::rules::{FailureRule, ResultKind, Rows, RuleScope, Take};
pub(crate) use entry::schema::{Schema, Values};
pub(crate) use entry::server::{Lifetime, PrivateNetwork, Server, kept_servers, of as server_of};
pub(crate) use entry::tool::{Entry, Once, Process};
pub(crate) use file::code::Code;
pub(crate) use file::configuration::{
    Configured, KEYS as CONFIGURATION_KEYS, Start, project_of, read as read_configuration,
};
pub(crate) use file::document::{Catalog, CatalogError, Tables as CatalogTables};
pub(crate) use file::host_command::{Command, given, given_url};
pub(crate) use file::host_values::Surroundings;
pub(crate) use file::settings::{
    ApprovalSettings, LedgerRule, Need, Storage, approval_settings, ledger_rule, only_profile,
    profile, storage,
};
pub(crate) use job::caller::Caller;
pub(crate) use job::fill::{foreseen, put, referring, supply};
pub(crate) use job::handed::Way;
pub(crate) use job::look_up::{look_up, unknown};
pub(crate) use job::plan::{PlanJob, PlanSource};
pub(crate) use job::resolve::{Nature, approval_rule, look_up_all, nature, plan_entry, resolve};
pub(crate) use job::standard::{enough_for, must_not_be};
pub(crate) use job::step::{Called, Delivery, Job, Places, Step, StepOutput, Supply, ToolJob};
pub(crate) use people::application::Application;
pub(crate) use people::callable::{Callable, Parameters, callable};
pub(crate) use people::check::{About, Checked, check};
pub(crate) use people::finding::{Finding, Level};
pub(crate) use people::imported::{
    BEGINNING, IMPROVISE, Known, RUN_APPROVED, SchemaForm, Tool, Trust, appended, one_line,
    server as first_start, server_name,
};
pub(crate) use people::lint::lint;
pub(crate) use people::listing::{Binds, Executor, INPUT_REF, Listed, find, list, pipelines};
pub(crate) use people::promote::{Performed, Promoted, Said, Trace, promote};
pub(crate) use people::render::{Offered, ToolForm, has_standard, offered_tools, prompt, tools};
pub(crate) use people::search::{Hit, Matched, search};
