//! The abilities of the file system, and the guarantees that plans can give on it.

use std::{
    fs::{self, File},
    io,
};

use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use serde::Serialize;
use serde_json::Value;

use super::{
    Unfinished,
    scratch::{Scratch, failed},
};

/// Whether the file system or the kernel can do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Can {
    Yes,
    No,
}

/// What a plan can guarantee here.
#[derive(Debug, Serialize)]
pub(crate) struct Guarantees {
    /// Exchange two names: a file that another program saves meanwhile is always kept. Without it there is a
    /// moment in which such a file may be lost.
    pub(crate) exchange: Can,
    /// Hard links: backups need no copy.
    pub(crate) hard_links: Can,
    /// Sync the whole file system at once.
    pub(crate) sync: Can,
    /// Landlock: the kernel restricts the writes of a plan to its root.
    pub(crate) landlock: Can,
}

fn can<T, E>(tried: Result<T, E>) -> Can {
    tried.map_or(Can::No, |_| Can::Yes)
}

impl Guarantees {
    pub(super) fn of(scratch: &Scratch) -> Result<Self, Unfinished> {
        scratch.fresh()?;
        let (one, two) = (scratch.root.join("a.txt"), scratch.root.join("b.txt"));
        let (one, two) = (one.as_std_path(), two.as_std_path());
        let exchange = renameat_with(CWD, one, CWD, two, RenameFlags::EXCHANGE);
        let linked = fs::hard_link(one, scratch.root.join("second"));
        let dir = File::open(&scratch.root).map_err(failed("open", &scratch.root))?;
        Ok(Self {
            exchange: can(exchange),
            hard_links: can(linked),
            sync: can(syncfs(&dir)),
            landlock: landlock(scratch)?,
        })
    }

    /// The guarantees in one sentence.
    pub(crate) fn level(&self) -> &'static str {
        match (self.exchange, self.landlock) {
            (Can::Yes, Can::Yes) => {
                "full: a plan is applied completely or not at all, changes by other programs are kept, and nothing outside the root is changed"
            }
            (Can::Yes, Can::No) => {
                "a plan is applied completely or not at all, and changes by other programs are kept; the kernel does not restrict the plan to the root (no Landlock)"
            }
            (Can::No, _) => {
                "a plan is applied completely or not at all; a file that another program saves at the moment of a change may be lost"
            }
        }
    }
}

/// Whether Landlock works, according to the report of a plan.
fn landlock(scratch: &Scratch) -> Result<Can, Unfinished> {
    scratch.fresh()?;
    let report = scratch
        .root
        .join(scratch.apply()?)
        .join("execution_report.json");
    let text = fs::read(&report).map_err(failed("read", &report))?;
    let report: Value = serde_json::from_slice(&text)
        .map_err(io::Error::other)
        .map_err(failed("read", &report))?;
    let jail = report.pointer("/guarantees/jail");
    Ok(can(jail.filter(|jail| *jail == "enforced").ok_or(())))
}
