//! A second wall: the kernel itself keeps a plan's writes inside its root (Landlock).

use std::thread;

use camino::Utf8Path;
use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus,
};

use crate::plan::record::Jail;

/// Does the work on a thread that can write below `root` alone; so can the threads it starts. Where the
/// kernel has no Landlock, the work is done without, and told so.
pub(crate) fn jailed<T: Send>(root: &Utf8Path, work: impl FnOnce(Jail) -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let jail = restrict(root).unwrap_or(Jail::Unavailable);
            work(jail)
        });
        worker.join().ok()
    })
}

fn restrict(root: &Utf8Path) -> Result<Jail, RulesetError> {
    let writing = AccessFs::from_write(ABI::V5);
    let Ok(root) = PathFd::new(root.as_std_path()) else {
        return Ok(Jail::Unavailable);
    };
    let status = Ruleset::default()
        .handle_access(writing)?
        .create()?
        .add_rule(PathBeneath::new(root, writing))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Jail::Enforced,
        RulesetStatus::NotEnforced => Jail::Unavailable,
    })
}
