//! The sinks of the check: `Staging` stages each change and records it, `Foresight` collects the preview.

use std::fmt::Write;

use jiff::{Timestamp, ToSpan};
use serde_json::{Map, Value};

use crate::{
    host::Host,
    plan::{
        Desk,
        check::{self, After, Change, Checker, Sink},
        diff::{self, Pair, Reader, Side},
        engine::{Stage, Way, hash, hash_of_link},
        files::{Attributes, Facts, FileError, Inherited, Kept, LINK_MODE, Root},
        limits::Limits,
        model::{Action, ChangeKind, Operation, Plan},
        nothing_done, pipeline, read,
        record::{self, Atomicity, Fidelity, FileState, Foreseen, PreviewHash, Undo, uuid_v4},
        refused,
    },
    task::{
        Bounds, Failure, Network, Outcome, Phase, Pipeline, PlanOrder, Preview, RelPath, Sanction,
        State,
    },
};

use super::{stopped, telling};

/// How long backups are kept before `oneact recover` may remove them.
const KEPT_DAYS: i64 = 30;

/// Stages every change, and keeps its record.
pub(crate) struct Staging<'a> {
    pub(crate) stage: Stage<'a>,
    pub(crate) changes: Vec<record::Change>,
    /// The outermost first.
    pub(crate) directories: Vec<RelPath>,
    pub(crate) foreseen: Vec<Foreseen>,
    /// What new directories could not inherit. It is recorded at the file for which they are made.
    lost: Kept,
    host: &'a Host,
    /// Of the parts before this one.
    begun: Option<Undo>,
}

impl<'a> Staging<'a> {
    pub(crate) fn new(stage: Stage<'a>, host: &'a Host) -> Self {
        Self {
            stage,
            changes: Vec::new(),
            directories: Vec::new(),
            foreseen: Vec::new(),
            lost: Kept::new(),
            host,
            begun: None,
        }
    }

    /// The same for a later part. `begun` has the changes of the parts before it.
    pub(crate) fn next(stage: Stage<'a>, mut begun: Undo, host: &'a Host) -> Self {
        Self {
            changes: std::mem::take(&mut begun.changes),
            directories: std::mem::take(&mut begun.directories),
            begun: Some(begun),
            ..Self::new(stage, host)
        }
    }

    /// The stage, and what is needed to undo the changes.
    pub(crate) fn ready(self) -> (Stage<'a>, Undo) {
        let begun = self.begun.unwrap_or_else(|| {
            let created = self.host.now();
            Undo {
                id: uuid_v4(self.host.random_bytes()),
                expires: created.checked_add(KEPT_DAYS.days()).ok(),
                created,
                changes: Vec::new(),
                directories: Vec::new(),
            }
        });
        let undo = Undo {
            changes: self.changes,
            directories: self.directories,
            ..begun
        };
        (self.stage, undo)
    }
}

impl Sink for Staging<'_> {
    fn dir(&mut self, path: &RelPath, mount: u64, inherited: &Inherited) -> Result<(), FileError> {
        if self.directories.contains(path) {
            return Ok(());
        }
        self.directories.push(path.clone());
        let kept = self.stage.make_dir(path.clone(), mount, inherited)?;
        self.lost.extend(kept);
        Ok(())
    }

    fn change(&mut self, change: Change<'_>) -> Result<(), FileError> {
        let diff = diff::summary(pair(&change));
        let (path, mount) = (change.path.clone(), change.mount);
        let mut fidelity = Fidelity {
            through_link: change.link.map(ToString::to_string),
            ..Fidelity::default()
        };
        let seen = change.before.map(|before| before.seen.clone());
        let before = seen.as_ref().map(|seen| state(&seen.sha256, &seen.facts));
        let after = match (&change.after, seen) {
            (
                After::Written {
                    bytes, attributes, ..
                },
                seen,
            ) => {
                let attributes = attributes.clone().stamped(self.host.standing());
                let written = self.stage.write(path, seen, bytes, &attributes, mount)?;
                fidelity.atomicity = match written.way {
                    Way::Exchange => Atomicity::Swap,
                    Way::InPlace => Atomicity::InPlace,
                };
                fidelity.degraded = written.kept;
                Some(state(&written.post.sha256, &written.facts))
            }
            (After::Linked { to }, _) => {
                let attributes = Attributes::default().stamped(self.host.standing());
                let written = self.stage.link(path, to, &attributes, mount)?;
                Some(state(&written.post.sha256, &written.facts))
            }
            (After::Deleted, Some(seen)) => {
                self.stage.delete(path, seen, mount)?;
                None
            }
            (After::Renamed { to }, Some(seen)) => {
                self.stage.rename(path, (*to).clone(), seen)?;
                before.clone()
            }
            (After::Deleted | After::Renamed { .. }, None) => return Ok(()),
        };
        fidelity.degraded.append(&mut self.lost);
        let backup = self.stage.entries.last().and_then(|entry| entry.pre());
        let foreseen = foreseen(&change, after.as_ref().map(|after| after.hash.clone()));
        self.changes.push(record::Change {
            actions: change.actions.to_vec(),
            kind: foreseen.kind,
            path: foreseen.path.clone(),
            from: foreseen.from.clone(),
            before,
            after,
            diff,
            fidelity,
            checkpoint: uuid_v4(self.host.random_bytes()),
            backup: backup.map(|pre| pre.backup.clone()),
        });
        self.foreseen.push(foreseen);
        Ok(())
    }
}

fn state(hash: &str, facts: &Facts) -> FileState {
    FileState {
        hash: hash.to_owned(),
        bytes: facts.bytes,
        modified: Timestamp::from_nanosecond(facts.mtime.into()).unwrap_or(Timestamp::UNIX_EPOCH),
        mode: facts.mode,
    }
}

/// The two contents of a change, to be compared.
fn pair<'a>(change: &Change<'a>) -> Pair<'a> {
    let before = change.before.map(|before| Side {
        name: change.path,
        bytes: &before.bytes,
        mode: before.seen.facts.git_mode(),
    });
    let after = match &change.after {
        After::Written {
            bytes, attributes, ..
        } => Some(Side {
            name: change.path,
            bytes,
            mode: attributes.mode.unwrap_or(0o644),
        }),
        After::Linked { to } => Some(Side {
            name: change.path,
            bytes: to.as_bytes(),
            mode: LINK_MODE,
        }),
        After::Deleted => None,
        After::Renamed { to } => before.map(|side| Side { name: to, ..side }),
    };
    Pair { before, after }
}

/// The part of the preview's hash for one change. `after` is the SHA-256 of the file after the change.
fn foreseen(change: &Change<'_>, after: Option<String>) -> Foreseen {
    let (path, from, mode, query) = match &change.after {
        After::Written {
            attributes, query, ..
        } => (change.path, None, attributes.mode, *query),
        After::Linked { .. } => (change.path, None, Some(LINK_MODE), None),
        After::Deleted => (change.path, None, None, None),
        After::Renamed { to } => (*to, Some(change.path.clone()), None, None),
    };
    Foreseen {
        path: path.clone(),
        from,
        kind: change.kind(),
        before: change.before.map(|before| before.seen.sha256.clone()),
        after: query.map(|query| format!("query {query}")).or(after),
        mode,
    }
}

/// The preview of a plan: a diff and its hash. Nothing is written.
pub(crate) fn preview(
    order: &PlanOrder,
    bounds: &Bounds,
    reader: Reader,
    desk: Desk<'_>,
) -> Outcome {
    let plan = match read::read(order, bounds, &desk.kept(bounds)) {
        Ok(plan) => plan,
        Err(error) => return telling::unread(&error, desk),
    };
    let mut foresight = Foresight::new(&plan.limits, reader);
    let mut told = plan.notes.clone();
    told.extend(telling::not_undone(&plan));
    let mut foresee = || -> Result<(), Failure> {
        let root = Root::open(desk.root)?;
        let stopped = || stopped(desk, plan.instructions.timeout);
        let checker = Checker {
            plan: &plan,
            root: &root,
            host: desk.host,
            stopped: &stopped,
        };
        let checked = check::foresee(checker, &mut foresight)?;
        told.extend(checked.notes);
        foresight.programs = checked.queries;
        foresight.programs.extend(started(&plan));
        let verdicts = checked.verdicts.iter();
        let failed = verdicts.clone().find_map(|it| Some((it, it.failure()?)));
        failed.map_or(Ok(()), |(verdict, failure)| {
            let message = format!("{}: {}", verdict.action, failure.message);
            let failure = failure.clone();
            Err(Failure { message, ..failure })
        })
    };
    let finished = if let Err(failure) = foresee() {
        refused(failure)
    } else {
        foresight.planned(&plan.plan_id, &order.plan, &plan.programs())
    };
    Outcome {
        notes: told,
        ..finished
    }
}

/// The pipelines of a plan, for people.
fn started(plan: &Plan) -> Vec<String> {
    let shown = |(action, pipeline): (&Action, &Pipeline)| {
        let none = Map::new();
        let parameters = match &action.operation {
            Operation::Pipeline { parameters } => parameters,
            _ => &none,
        };
        let argv = pipeline::arguments(pipeline, parameters).unwrap_or_default();
        let writes: Vec<String> = pipeline
            .writes
            .iter()
            .map(|dir| format!("{dir}/**"))
            .collect();
        let writes = if writes.is_empty() {
            "nothing".to_owned()
        } else {
            writes.join(", ")
        };
        format!(
            "{} starts the pipeline {}, which cannot be undone: {}; it may write to {writes}; the network is {}\n",
            action.id,
            pipeline.name,
            serde_json::to_string(&argv).unwrap_or_default(),
            match pipeline.network {
                Network::Allowed => "allowed",
                Network::Refused => "refused",
            }
        )
    };
    plan.pipelines().map(shown).collect()
}

/// What the changes come to, in their order.
pub(crate) struct Foresight<'l> {
    limits: &'l Limits,
    reader: Reader,
    pub(crate) foreseen: Vec<Foreseen>,
    files: Vec<Shown>,
    /// The queries and pipelines.
    programs: Vec<String>,
}

/// The change of one file, for a preview.
struct Shown {
    /// It needs an approval.
    protected: bool,
    /// One line.
    summary: String,
    diff: String,
}

impl<'l> Foresight<'l> {
    pub(crate) fn new(limits: &'l Limits, reader: Reader) -> Self {
        Self {
            limits,
            reader,
            foreseen: Vec::new(),
            files: Vec::new(),
            programs: Vec::new(),
        }
    }

    /// The outcome of the preview of this plan.
    pub(crate) fn planned(self, plan_id: &str, plan: &Value, programs: &[&Pipeline]) -> Outcome {
        let files = telling::counted(self.foreseen.len(), "file");
        let hash = PreviewHash::of(plan, self.foreseen, programs);
        let runs: Vec<&str> = programs.iter().map(|it| it.name.as_str()).collect();
        let runs = match runs.as_slice() {
            [] => String::new(),
            runs => format!(" and run {}", runs.join(", ")),
        };
        let changes = match self.reader {
            Reader::User => self.files.into_iter().map(|file| file.diff).collect(),
            Reader::Approvers => requested(self.files),
        };
        let diff = self.programs.concat() + &changes;
        Outcome {
            state: State::Planned,
            phase: Phase::Plan,
            preview: Some(Preview {
                hash: hash.as_str().to_owned(),
                diff,
            }),
            ..nothing_done(format!("Plan {plan_id} would change {files}{runs}."))
        }
    }
}

impl Sink for Foresight<'_> {
    fn dir(&mut self, _: &RelPath, _: u64, _: &Inherited) -> Result<(), FileError> {
        Ok(())
    }

    fn change(&mut self, change: Change<'_>) -> Result<(), FileError> {
        let after = match &change.after {
            After::Written { bytes, .. } => Some(hash(bytes)),
            After::Linked { to } => Some(hash_of_link(to)),
            After::Deleted => None,
            After::Renamed { .. } => change.before.map(|before| before.seen.sha256.clone()),
        };
        let pair = pair(&change);
        let foreseen = foreseen(&change, after);
        let none = &Sanction::None;
        let places = [Some(change.path), Some(&foreseen.path), change.link];
        let protected_place = |path: &RelPath| self.limits.admits_under(path, none).is_err();
        let executable = |side: Option<Side<'_>>| side.is_some_and(|side| side.mode & 0o111 != 0);
        let gets_executable =
            executable(pair.after) && (!executable(pair.before) || foreseen.path != *change.path);
        let protected = places.into_iter().flatten().any(protected_place)
            || gets_executable
                && self
                    .limits
                    .admits_executable_under(&foreseen.path, none)
                    .is_err();
        let from = diff::quoted("", change.path);
        let (diff, hidden) = diff::unified(pair, self.reader);
        let bytes = |side: Option<Side<'_>>| side.map_or(0, |side| side.bytes.len());
        self.files.push(Shown {
            protected,
            summary: format!(
                "{}: {}, {} bytes before, {} bytes after{}{}\n",
                diff::quoted("", &foreseen.path),
                match foreseen.kind {
                    ChangeKind::Create => "created".to_owned(),
                    ChangeKind::Modify => "changed".to_owned(),
                    ChangeKind::Delete => "deleted".to_owned(),
                    ChangeKind::Rename => format!("renamed from {from}"),
                },
                bytes(pair.before),
                bytes(pair.after),
                match hidden {
                    0 => String::new(),
                    hidden => format!(", {} hidden in the diff", telling::counted(hidden, "value")),
                },
                if protected { ", protected" } else { "" }
            ),
            diff,
        });
        self.foreseen.push(foreseen);
        Ok(())
    }
}

/// The most bytes of the diffs that a request for an approval keeps.
const MOST_REQUESTED: usize = 256 << 10;

/// The most bytes of the list of files, unless the protected ones alone need more.
const MOST_LISTED: usize = 32 << 10;

/// The most bytes of the name of a file whose diff was cut.
const MOST_NAMED: usize = 256;

/// The list of the files and their diffs, the protected files first. No file leaves less room to another than its
/// share. Of other files than the protected ones, those without room in the list are counted.
fn requested(mut files: Vec<Shown>) -> String {
    files.sort_by_key(|file| (!file.protected, file.diff.len()));
    let mut shown = String::new();
    let mut has_room = |file: &&Shown| {
        let fits = file.protected || shown.len() + file.summary.len() <= MOST_LISTED;
        shown.push_str(if fits { &file.summary } else { "" });
        fits
    };
    let listed = files.iter().take_while(&mut has_room).count();
    // Writing to a String cannot fail.
    let _ = match files.split_off(listed).len() {
        0 => Ok(()),
        more => writeln!(
            shown,
            "… and {}, none of them protected",
            telling::counted(more, "more file")
        ),
    };
    let mut room = MOST_REQUESTED;
    for (at, file) in files.iter().enumerate() {
        let share = room / (files.len() - at);
        let (kept, cut) = file.diff.split_at(file.diff.floor_char_boundary(share));
        shown.push_str(kept);
        if !cut.is_empty() {
            let (more, end) = (cut.len(), file.summary.floor_char_boundary(MOST_NAMED));
            let name = file.summary.get(..end).unwrap_or_default().trim_end();
            let _ = writeln!(shown, "\n… {more} more bytes of the diff of {name}");
        }
        room -= kept.len();
    }
    shown
}
