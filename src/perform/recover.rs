//! `oneact recover`: only what every run does first.

use crate::{
    executor::{self, Context},
    host::Host,
    task::OperationId,
};

use super::Settings;

/// Settles plans that a crash interrupted: a sentence for each.
pub fn recover(settings: &Settings, host: &Host) -> Vec<String> {
    let operation = OperationId::new(&host.now(), host.random_bytes());
    executor::recover(&Context {
        host,
        root: &settings.root,
        state_dir: &settings.state_dir,
        scratch: operation.as_str(),
        session_id: "recover",
        task_id: "recover",
        operation: &operation,
        begun: host.moment(),
        budget: settings.budget,
        watch: &|_| (),
    })
}
