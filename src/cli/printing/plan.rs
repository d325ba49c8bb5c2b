//! The words for a finished plan, on a terminal and on a page.

use serde_json::Value;

use crate::{
    host::Host,
    perform::{Difference, FileExhibit, PlanExhibit, ReportedChange, Undo, exhibit},
    record::Project,
    task::Failure,
};

use super::units::{duration, size};

/// A finished plan: its execution report, and what its report directory shows.
pub(crate) struct PlanReport<'a> {
    report: &'a Value,
    found: Result<PlanExhibit, Failure>,
}

impl<'a> PlanReport<'a> {
    /// The diffs have at most `room` lines together, which is reduced by theirs.
    pub(crate) fn of(report: &'a Value, room: &mut usize, project: &Project, host: &Host) -> Self {
        let found = exhibit(report, room, project, host);
        Self { report, found }
    }

    pub(crate) fn text(&self, key: &str) -> &'a str {
        text(self.report, key)
    }

    pub(crate) fn duration(&self) -> String {
        let ms = self.report.get("duration_ms").and_then(Value::as_u64);
        duration(ms.unwrap_or_default())
    }

    pub(crate) fn files(&self) -> &[FileExhibit] {
        self.found.as_ref().map_or(&[], |found| &found.files)
    }

    /// The facts, each with its label, for a terminal and for a page.
    pub(crate) fn facts(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut facts = Vec::new();
        for (list, done, what) in [
            ("actions_completed", "done", "output"),
            ("actions_failed", "failed", "error_message"),
            ("actions_skipped", "skipped", "reason"),
        ] {
            for action in all(self.report, list) {
                let (id, what) = (text(action, "action_id"), text(action, what));
                let first =
                    |file: &&FileExhibit| file.actions.first().is_some_and(|first| first == id);
                let files = self.files().iter().filter(first).map(changed);
                let told = [format!("{id}: {what}")].into_iter();
                facts.push((done, told.chain(files).collect()));
            }
        }
        for error in all(self.report, "errors") {
            let class = text(error, "error_type").to_ascii_lowercase();
            // The message of an action is told with the action.
            let told = match error.pointer("/details/action_id").and_then(Value::as_str) {
                Some(action) => format!("{action}: {class}"),
                None => format!("{class}: {}", text(error, "message")),
            };
            facts.push(("error", vec![told, self.remedy(error).to_owned()]));
        }
        let warnings = all(self.report, "warnings").filter_map(Value::as_str);
        facts.extend(warnings.map(|warning| ("warning", vec![warning.to_owned()])));
        facts.push(("undo", self.undo()));
        facts
    }

    fn remedy(&self, error: &Value) -> &'static str {
        match (self.text("status"), text(error, "recovery_action")) {
            ("STUCK", _) => {
                "Remove the cause, then run `oneact recover`: it finishes the rollback."
            }
            (_, "MANUAL_REQUIRED") => {
                "A person has to look at the files, and to keep or to undo the changes."
            }
            (_, _) if text(error, "error_type") == "DEPENDENCY_FAILED" => {
                "Correct the action that this one waits for."
            }
            ("PARTIAL", _) => {
                "The other changes stay. Correct the action, and send it in a new plan."
            }
            (_, "ROLLED_BACK") => {
                "All changes were undone. Correct the cause, and send the plan again."
            }
            _ => "Nothing was changed. Correct the cause, and send the plan again.",
        }
    }

    /// How the plan can be undone: a sentence, and a command if it can.
    fn undo(&self) -> Vec<String> {
        let sentence = match self.found.as_ref().map(|found| &found.undo) {
            Err(failure) => format!("{}.", failure.message),
            Ok(Undo::Nothing) => "No file was changed.".to_owned(),
            Ok(Undo::Undone(_)) if self.is_rolled_back() => {
                "Its changes were undone, because it failed.".to_owned()
            }
            Ok(Undo::Undone(at)) => format!("Undone by a rollback at {}.", moment(at)),
            Ok(Undo::Expired) => "The time is over for which backups are kept.".to_owned(),
            Ok(Undo::Possible(until)) => {
                let until = until.as_ref().map(|at| format!(" until {}", moment(at)));
                let manifest = self.text("rollback_manifest");
                let directory = manifest.rsplit_once('/').map_or(manifest, |(dir, _)| dir);
                let possible = format!("Possible{}, with:", until.unwrap_or_default());
                return vec![possible, format!("oneact rollback {directory}")];
            }
        };
        vec![sentence]
    }

    /// Whether the plan itself undid its changes.
    fn is_rolled_back(&self) -> bool {
        self.report.get("rollback_performed") == Some(&Value::Bool(true))
    }

    /// Whether a rollback undid the plan after its end.
    pub(crate) fn is_undone_since(&self) -> bool {
        let undo = self.found.as_ref().map(|found| &found.undo);
        matches!(undo, Ok(Undo::Undone(_))) && !self.is_rolled_back()
    }
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn all<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    of.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// `2026-02-24T10:00:00.000+01:00` as `2026-02-24 10:00:00 +01:00`.
pub(crate) fn moment(at: &str) -> String {
    match (at.get(..10), at.get(11..19), at.get(19..)) {
        (Some(day), Some(clock), Some(rest)) => {
            let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
            format!("{day} {clock} {zone}")
        }
        _ => at.to_owned(),
    }
}

pub(crate) fn kind(file: &FileExhibit) -> &'static str {
    match file.kind {
        ReportedChange::Create => "created",
        ReportedChange::Modify => "changed",
        ReportedChange::Delete => "deleted",
        ReportedChange::Rename => "renamed",
    }
}

/// What was done to the file, its path, and the lines that were added and removed.
fn changed(file: &FileExhibit) -> String {
    let counts = match (file.summary.lines_added, file.summary.lines_removed) {
        // Not a text, or only its name or its permissions changed.
        (0, 0) => String::new(),
        (more, less) => format!(" +{more} −{less}"),
    };
    let since = match file.shown {
        Difference::ChangedSince => " (changed since)",
        _ => "",
    };
    format!("{} {}{counts}{since}", kind(file), place(file))
}

/// The path, of a renamed file both.
pub(crate) fn place(file: &FileExhibit) -> String {
    match &file.from {
        Some(from) => format!("{from} → {}", file.path),
        None => file.path.to_string(),
    }
}

/// Why no lines of a change are shown; `None` where they are.
pub(crate) fn unshown(file: &FileExhibit) -> Option<String> {
    let sizes = || match file.bytes {
        [Some(before), Some(after)] => format!("{} before, {} after", size(before), size(after)),
        [one, other] => size(one.or(other).unwrap_or_default()),
    };
    Some(match &file.shown {
        Difference::Lines(_) => return None,
        Difference::None if file.bytes.contains(&None) => "The file is empty.".to_owned(),
        Difference::None => "The content is the same.".to_owned(),
        Difference::Binary => format!("The file is no text: {}.", sizes()),
        Difference::TooLarge => {
            format!("Too much to be compared here: {}.", sizes())
        }
        Difference::Undone => "The change was undone.".to_owned(),
        Difference::ChangedSince => {
            "The file has been changed or removed since. The report says:".to_owned()
        }
        Difference::NoBackup => "The backup is no longer there. The report says:".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_a_report_is_told_without_its_fraction() {
        let told = moment("2026-02-24T10:00:00.125+01:00");
        assert_eq!(told, "2026-02-24 10:00:00 +01:00");
        assert_eq!(moment("2026-02-24T10:00:00Z"), "2026-02-24 10:00:00 Z");
        assert_eq!(moment("yesterday"), "yesterday");
    }
}
