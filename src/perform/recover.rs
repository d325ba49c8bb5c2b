//! The work of `oneact recover`: what every run performs first, but also without a note, and the removal of expired
//! backups.

use crate::{executor, host::Host, record::Project};

pub(crate) use crate::executor::{Consent, Settled};

/// Settles plans that a crash interrupted, and removes expired backups.
pub(crate) fn recover(project: &Project, host: &Host) -> Settled {
    project.with_desk(host, |desk| {
        let mut settled = executor::recover_all(desk);
        settled.told.extend(executor::clear_expired(desk));
        settled
    })
}

/// Settles the plan of one report directory, wherever its journal was written, if `ask` agrees to the changes.
pub(crate) fn recover_named(
    path: &str,
    ask: &mut dyn FnMut(&[String]) -> Consent,
    project: &Project,
    host: &Host,
) -> Settled {
    project.with_desk(host, |desk| executor::recover_named(desk, path, ask))
}
