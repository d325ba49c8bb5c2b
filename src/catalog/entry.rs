//! The entries: servers, capabilities, workflows and pipelines, compiled from the tables of the file.

pub(super) mod bind;
pub(super) mod common;
pub(super) mod compile;
pub(super) mod file_plan;
pub(super) mod identity;
pub(super) mod pipeline;
pub(super) mod remote;
pub(super) mod rules;
pub(super) mod schema;
pub(super) mod server;
pub(super) mod tool;
pub(super) mod workflow;
pub(super) mod workflow_step;
