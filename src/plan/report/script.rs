//! `rollback.sh`: calls oneact, and says how to do without (R-001-67, C-28).

use std::fmt::Write;

use super::{Manifest, steps};

/// The script. It finds its report directory by itself, so the tree may have been moved. oneact never
/// needs it; the mode is the writer's to set.
pub(crate) fn script(manifest: &Manifest) -> String {
    // The report directory lies below the root; the script goes up as far.
    let up = "/..".repeat(manifest.auto_rollback_script.ancestors().count());
    let mut text = format!(
        "#!/bin/sh\n\
         # Undoes plan {} (manifest {}): puts back every file as it was.\n\
         # Arguments are handed on: --checkpoint ID undoes one change and what rests on it.\n\
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
        "By hand, without oneact: go to the root (the directory that holds agent_outputs) and do these \
         steps in this order. Before a step, see that the file is still as the plan left it; if it is \
         not, somebody has changed it since: keep a copy of it first.\n",
    );
    let mut number = 0;
    for point in manifest.in_rollback_order() {
        let step = steps::Step::of(point);
        number += 1;
        // Writing to a String cannot fail.
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
            "{number}. Remove a directory that the plan created, if it is empty.\n   do: {}",
            steps::removal(directory)
        );
    }
    text
}
