//! The job: what a task becomes by the entries that it names.

pub(super) mod caller;
pub(super) mod configure;
pub(super) mod direct;
pub(super) mod expand;
pub(super) mod fill;
pub(super) mod handed;
pub(super) mod input;
pub(super) mod look_up;
pub(super) mod outputs;
pub(super) mod plan;
pub(super) mod resolve;
pub(super) mod standard;
pub(super) mod step;
