//! How a plan is undone by hand: `rollback.sh`, which calls oneact (R-001-67, C-28), and sentences with
//! commands that any POSIX shell reads. The commands are run in the root.

use std::fmt::Write;

use crate::{
    plan::{
        change::{Change, Version},
        model::ReportedChange,
    },
    task::RelPath,
};

use super::{Manifest, Point};

/// The script. It finds its report directory by itself, so the tree may have been moved. oneact never
/// needs it; the mode is the writer's to set.
pub(crate) fn script(manifest: &Manifest<'_>) -> String {
    // The report directory lies below the root; the script goes up as far.
    let up = "/..".repeat(manifest.run.directory.ancestors().count() + 1);
    let mut text = format!(
        "#!/bin/sh\n\
         # Undoes plan {} (manifest {}): puts back every file as it was.\n\
         # Arguments are passed on: --checkpoint ID undoes one change and the changes that depend on it.\n\
         #\n",
        manifest.run.plan_id.escape_debug(),
        manifest.undo.id
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
pub(in crate::plan::report) fn manual(manifest: &Manifest<'_>) -> String {
    let mut text = String::from(
        "By hand, without oneact: go to the root (the directory that contains agent_outputs) and do these \
         steps in this order. Before a step, check that the file is still as the plan left it. If it is \
         not, somebody has changed it since: make a copy of it first.\n",
    );
    let steps = manifest.checkpoints.iter().rev().map(|point| {
        let step = ManualStep::of(point);
        format!(
            "{}\n   before: {}\n   do: {}\n   after: {}",
            step.what, step.before, step.command, step.after
        )
    });
    let directories = manifest.undo.directories().rev().map(|directory| {
        format!(
            "Remove a directory that the plan created, if it is empty.\n   do: rmdir -- {}",
            quoted(directory)
        )
    });
    for (number, step) in (1..).zip(steps.chain(directories)) {
        let _ = writeln!(text, "{number}. {step}");
    }
    text
}

pub(crate) struct ManualStep {
    pub(crate) what: String,
    pub(crate) command: String,
    /// What must hold before: else somebody has changed the file since, and the step would destroy it.
    pub(crate) before: String,
    pub(crate) after: String,
}

impl ManualStep {
    pub(crate) fn of(point: &Point<'_>) -> Self {
        let change = point.change;
        let (path, here) = (&change.path, change.result_path());
        let (old, now) = (quoted(path), quoted(here));
        let hash = |version: &Option<Version>| version.as_ref().map(|it| it.sha256.clone());
        let (original, result) = (hash(&change.before), hash(&change.after));
        let copied = copied(change);
        let (what, command) = match point.kind {
            ReportedChange::Create => (
                format!("Remove {old}, which the plan created."),
                format!("rm -- {old}"),
            ),
            ReportedChange::Modify => (format!("Put the original of {old} back."), copied),
            ReportedChange::Delete => (format!("Put {old} back, which the plan deleted."), copied),
            ReportedChange::Rename if original == result => (
                format!("Rename {now} back to {old}."),
                format!("{}mv -n -- {now} {old}", directory(path)),
            ),
            ReportedChange::Rename => (
                format!(
                    "Put the original of {old} back, which the plan renamed to {now} and changed."
                ),
                format!("{copied} && rm -- {now}"),
            ),
        };
        Self {
            what,
            command,
            before: holds(here, result.as_deref()),
            after: holds(path, original.as_deref()),
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
fn copied(change: &Change) -> String {
    let (Some(backup), Some(before)) = (&change.backup, &change.before) else {
        return "true".to_owned();
    };
    let (backup, path) = (quoted(backup), &change.path);
    let (name, mode) = (quoted(path), before.facts.mode);
    let copy = format!("{}cp -pf -- {backup} {name}", directory(path));
    match mode & 0o6000 {
        0 => format!("{copy} && chmod {mode:04o} -- {name}"),
        _ => copy,
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
