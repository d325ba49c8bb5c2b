//! `oneact recover`: what every run does first, and what none has to.

use crate::{
    executor::{self, Context},
    host::Host,
    task::{Course, OperationId},
};

use super::{Settings, own};

pub(crate) use crate::executor::{Consent, Settled};

/// Settles plans that a crash interrupted, and clears backups away that have expired.
pub(crate) fn recover(settings: &Settings, host: &Host) -> Settled {
    with_context(settings, host, |context| {
        let mut settled = executor::recover(context);
        settled.told.extend(executor::clear_expired(context));
        settled
    })
}

/// Settles the plan of one report directory, whoever wrote its journal, if `ask` agrees to what would change.
pub(crate) fn recover_named(
    path: &str,
    ask: &mut dyn FnMut(&[String]) -> Consent,
    settings: &Settings,
    host: &Host,
) -> Settled {
    with_context(settings, host, |context| {
        executor::recover_named(context, path, ask)
    })
}

fn with_context(
    settings: &Settings,
    host: &Host,
    work: impl FnOnce(&Context<'_>) -> Settled,
) -> Settled {
    let operation = OperationId::new(host.timestamp(), host.random_bytes());
    work(&Context {
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
        own: &|| own::files(settings),
        course: &Course::default(),
    })
}
