//! How a plan is undone by hand: `rollback.sh`, which calls oneact (R-001-67, C-28), and sentences with
//! commands that any POSIX shell reads. The commands are run in the root.

use std::fmt::Write;

use crate::{plan::model::ChangeKind, task::RelPath};

use super::{Manifest, Point};

/// The script. It finds its report directory by itself, so the tree may have been moved. oneact never
/// needs it; the mode is the writer's to set.
pub(crate) fn script(manifest: &Manifest) -> String {
    // The report directory lies below the root; the script goes up as far.
    let up = "/..".repeat(manifest.auto_rollback_script.ancestors().count());
    let mut text = format!(
        "#!/bin/sh\n\
         # Undoes plan {} (manifest {}): puts back every file as it was.\n\
         # Arguments are passed on: --checkpoint ID undoes one change and the changes that depend on it.\n\
         #\n",
        manifest.plan_id.escape_debug(),
        manifest.id
    );
    // Writing to a String cannot fail.
    for line in manual(manifest).lines() {
        let _ = writeln!(text, "# {line}");
    }
    let _ = write!(
        text,
        "set -eu\n\
         here=$(CDPATH= cd -- \"$(dirname -- \"$0\")\" && pwd -P)\n\
         ONEACT_ROOT=$here{up}\n\
         export ONEACT_ROOT\n\
         exec oneact rollback \"$here\" \"$@\"\n"
    );
    text
}

/// How to restore everything by hand: what the manifest's `notes` say.
pub(super) fn manual(manifest: &Manifest) -> String {
    let mut text = String::from(
        "By hand, without oneact: go to the root (the directory that contains agent_outputs) and do these \
         steps in this order. Before a step, check that the file is still as the plan left it. If it is \
         not, somebody has changed it since: make a copy of it first.\n",
    );
    let mut number = 0;
    for point in manifest.in_rollback_order() {
        let step = Step::of(point);
        number += 1;
        let _ = writeln!(
            text,
            "{number}. {}\n   before: {}\n   do: {}\n   after: {}",
            step.what, step.before, step.command, step.after
        );
    }
    for directory in manifest.created_directories.iter().rev() {
        number += 1;
        let _ = writeln!(
            text,
            "{number}. Remove a directory that the plan created, if it is empty.\n   do: rmdir -- {}",
            quoted(directory)
        );
    }
    text
}

pub(crate) struct Step {
    pub(crate) what: String,
    pub(crate) command: String,
    /// What must hold before: else somebody has changed the file since, and the step would destroy it.
    pub(crate) before: String,
    pub(crate) after: String,
}

impl Step {
    pub(crate) fn of(point: &Point) -> Self {
        let path = &point.file_path;
        let here = point.new_path.as_ref().unwrap_or(path);
        let (old, now) = (quoted(path), quoted(here));
        let copied = copied(point);
        let (what, command) = match point.operation_to_reverse {
            ChangeKind::Create => (
                format!("Remove {old}, which the plan created."),
                format!("rm -- {old}"),
            ),
            ChangeKind::Modify => (format!("Put the original of {old} back."), copied),
            ChangeKind::Delete => (format!("Put {old} back, which the plan deleted."), copied),
            ChangeKind::Rename if point.original_hash == point.result_hash => (
                format!("Rename {now} back to {old}."),
                format!("{}mv -n -- {now} {old}", directory(path)),
            ),
            ChangeKind::Rename => (
                format!(
                    "Put the original of {old} back, which the plan renamed to {now} and changed."
                ),
                format!("{copied} && rm -- {now}"),
            ),
        };
        Self {
            what,
            command,
            before: holds(here, point.result_hash.as_deref()),
            after: holds(path, point.original_hash.as_deref()),
        }
    }

    pub(crate) fn sentence(&self) -> String {
        format!(
            "{} In the root, while {}: {} (then {})",
            self.what, self.before, self.command, self.after
        )
    }
}

fn holds(path: &RelPath, hash: Option<&str>) -> String {
    match hash {
        Some(hash) => format!("`sha256sum -- {}` prints {hash}", quoted(path)),
        None => format!("there is no {}", quoted(path)),
    }
}

/// `cp -f` replaces a file that may not be written to; `-p` keeps times, owner and mode. `chmod` sets the mode once
/// more, since the backup's may have been changed. It is left out for a mode with set-user-ID or set-group-ID bits,
/// because `cp` alone knows whether owner and group were kept: if not, it gives the file no such bits.
fn copied(point: &Point) -> String {
    let Some(backup) = &point.backup_location else {
        return "true".to_owned();
    };
    let (backup, path) = (quoted(backup), &point.file_path);
    let name = quoted(path);
    let mode = point.original_mode.as_deref();
    let mode = mode.and_then(|digits| u32::from_str_radix(digits, 8).ok());
    let copy = format!("{}cp -pf -- {backup} {name}", directory(path));
    match mode.filter(|mode| mode & 0o6000 == 0) {
        Some(mode) => format!("{copy} && chmod {mode:04o} -- {name}"),
        None => copy,
    }
}

fn directory(path: &RelPath) -> String {
    path.parent()
        .map(|dir| format!("mkdir -p -- {} && ", quoted(&dir)))
        .unwrap_or_default()
}

/// A name as one word of a shell, whatever is in it.
fn quoted(path: &RelPath) -> String {
    format!("'{}'", path.as_str().replace('\'', r"'\''"))
}
