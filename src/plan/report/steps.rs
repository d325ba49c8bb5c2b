//! How a person takes a change back by hand: sentences, and commands that any POSIX shell reads. They are
//! run in the root.

use crate::{plan::record::ChangeKind, task::RelPath};

use super::manifest::Point;

/// One change taken back.
pub(super) struct Step {
    /// What is done.
    pub(super) what: String,
    /// How.
    pub(super) command: String,
    /// What must hold before: else somebody has changed the file since, and the step would destroy it.
    pub(super) before: String,
    /// What must hold after.
    pub(super) after: String,
}

impl Step {
    pub(super) fn of(point: &Point) -> Self {
        let path = &point.file_path;
        let here = point.new_path.as_ref().unwrap_or(path);
        let backup = point.backup_location.as_ref();
        let (what, command) = match point.operation_to_reverse {
            ChangeKind::Create => (
                format!("Remove {}, which the plan created.", quoted(path)),
                format!("rm -- {}", quoted(path)),
            ),
            ChangeKind::Modify => (
                format!("Put the original of {} back.", quoted(path)),
                copied(backup, path, point.original_mode.as_deref()),
            ),
            ChangeKind::Delete => (
                format!("Put {} back, which the plan deleted.", quoted(path)),
                copied(backup, path, point.original_mode.as_deref()),
            ),
            ChangeKind::Rename if point.original_hash == point.result_hash => (
                format!("Rename {} back to {}.", quoted(here), quoted(path)),
                format!(
                    "{}mv -n -- {} {}",
                    directory(path),
                    quoted(here),
                    quoted(path)
                ),
            ),
            ChangeKind::Rename => (
                format!(
                    "Put the original of {} back, which the plan renamed to {} and changed.",
                    quoted(path),
                    quoted(here)
                ),
                format!(
                    "{} && rm -- {}",
                    copied(backup, path, point.original_mode.as_deref()),
                    quoted(here)
                ),
            ),
        };
        Self {
            what,
            command,
            before: holds(here, point.result_hash.as_deref()),
            after: holds(path, point.original_hash.as_deref()),
        }
    }

    /// The manifest's `restore_command`.
    pub(super) fn sentence(&self) -> String {
        format!(
            "{} In the root, while {}: {} (then {})",
            self.what, self.before, self.command, self.after
        )
    }
}

/// A directory that the plan made and that is empty again.
pub(super) fn removal(directory: &RelPath) -> String {
    format!("rmdir -- {}", quoted(directory))
}

fn holds(path: &RelPath, hash: Option<&str>) -> String {
    match hash {
        Some(hash) => format!("`sha256sum -- {}` prints {hash}", quoted(path)),
        None => format!("there is no {}", quoted(path)),
    }
}

/// `cp -f` replaces a file that may not be written to; `-p` keeps times, owner and mode, `chmod` says the
/// mode once more, since the backup's may have been changed.
fn copied(backup: Option<&RelPath>, path: &RelPath, mode: Option<&str>) -> String {
    let Some(backup) = backup else {
        return "true".to_owned();
    };
    let copy = format!(
        "{}cp -pf -- {} {}",
        directory(path),
        quoted(backup),
        quoted(path)
    );
    match mode {
        Some(mode) => format!("{copy} && chmod {mode} -- {}", quoted(path)),
        None => copy,
    }
}

fn directory(path: &RelPath) -> String {
    path.parent()
        .map(|dir| format!("mkdir -p -- {} && ", quoted(&dir)))
        .unwrap_or_default()
}

/// A name as one word of a shell, whatever is in it.
pub(super) fn quoted(path: &RelPath) -> String {
    format!("'{}'", path.as_str().replace('\'', r"'\''"))
}
