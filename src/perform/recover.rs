//! `oneact recover`: what every run does first, and what none has to.

use crate::{
    executor::{self, Context},
    host::Host,
    task::OperationId,
};

use super::Settings;

/// Settles plans that a crash interrupted, and clears backups away that have expired: a sentence for
/// each.
pub fn recover(settings: &Settings, host: &Host) -> Vec<String> {
    let operation = OperationId::new(host.timestamp(), host.random_bytes());
    let context = Context {
        host,
        root: &settings.root,
        state_dir: &settings.state_dir,
        scratch: operation.as_str(),
        session_id: "recover",
        task_id: "recover",
        operation_id: operation.as_str(),
        begun: host.moment(),
        budget: settings.budget,
        watch: &|_| (),
    };
    let mut settled = executor::recover(&context);
    settled.extend(executor::clear_expired(&context));
    settled
}
