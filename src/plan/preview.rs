//! What a plan would do, shown before anything is written: a diff and its hash.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::task::{
    Bounds, Failure, Network, Outcome, Phase, Pipeline, PlanOrder, Preview, RelPath, Sanction,
    State,
};

use super::{
    Desk,
    diff::{self, Pair, Reader, Side},
    fold::{self, Folding, Sink},
    hash::{hash, hash_of_link},
    limits::Limits,
    lock::stopped,
    model::{Action, Operation, Plan, ReportedChange},
    nothing_done, pipeline,
    planned::{After, Planned},
    read,
    record::{Foreseen, PreviewHash, counted},
    refused,
    unread::unread,
};
use crate::tree::{FileError, Inherited, LINK_MODE, Root};

/// The two contents of a change, to be compared.
pub(super) fn pair<'a>(planned: &Planned<'a>) -> Pair<'a> {
    let side = |bytes, mode| Side {
        name: planned.path,
        bytes,
        mode,
    };
    let before = planned.before;
    let before = before.map(|it| side(&*it.bytes, it.version.facts.git_mode()));
    let after = match &planned.after {
        After::Written {
            bytes, attributes, ..
        } => Some(side(bytes, attributes.mode.unwrap_or(0o644))),
        After::Linked { to } => Some(side(to.as_bytes(), LINK_MODE)),
        After::Deleted => None,
        After::Renamed { to } => before.map(|side| Side { name: to, ..side }),
    };
    Pair { before, after }
}

/// The part of the preview's hash for one change. `after` is the SHA-256 of the file after the change.
pub(super) fn foreseen(planned: &Planned<'_>, after: Option<String>) -> Foreseen {
    let (path, from, mode, query) = match &planned.after {
        After::Written {
            attributes, query, ..
        } => (planned.path, None, attributes.mode, *query),
        After::Linked { .. } => (planned.path, None, Some(LINK_MODE), None),
        After::Deleted => (planned.path, None, None, None),
        After::Renamed { to } => (*to, Some(planned.path.clone()), None, None),
    };
    Foreseen {
        path: path.clone(),
        from,
        kind: planned.kind(),
        before: planned.before.map(|before| before.version.sha256.clone()),
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
        Err(error) => return unread(&error, desk),
    };
    let mut foresight = Foresight::new(&plan.limits, reader);
    let mut told = plan.notes.clone();
    told.extend(not_undone(&plan));
    let mut foresee = || -> Result<(), Failure> {
        let root = Root::open(desk.root)?;
        let stopped = || stopped(desk, plan.instructions.timeout);
        let folding = Folding {
            plan: &plan,
            root: &root,
            host: desk.host,
            stopped: &stopped,
        };
        let folded = fold::foresee(folding, &mut foresight)?;
        told.extend(folded.notes);
        foresight.programs = folded.queries;
        foresight.programs.extend(started(&plan));
        let verdicts = folded.verdicts.iter();
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
        let writes = pipeline.writes.iter().map(|dir| format!("{dir}/**"));
        let writes = match &*writes.collect::<Vec<_>>() {
            [] => "nothing".to_owned(),
            writes => writes.join(", "),
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
        let files = counted(self.foreseen.len(), "file");
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

    fn file(&mut self, planned: Planned<'_>) -> Result<(), FileError> {
        let after = match &planned.after {
            After::Written { bytes, .. } => Some(hash(bytes)),
            After::Linked { to } => Some(hash_of_link(to)),
            After::Deleted => None,
            After::Renamed { .. } => planned.before.map(|before| before.version.sha256.clone()),
        };
        let pair = pair(&planned);
        let foreseen = foreseen(&planned, after);
        let none = &Sanction::None;
        let places = [Some(planned.path), Some(&foreseen.path), planned.link];
        let protected_place = |path: &RelPath| self.limits.admits_under(path, none).is_err();
        let executable = |side: Option<Side<'_>>| side.is_some_and(|side| side.mode & 0o111 != 0);
        let gets_executable =
            executable(pair.after) && (!executable(pair.before) || foreseen.path != *planned.path);
        let protected = places.into_iter().flatten().any(protected_place)
            || gets_executable
                && self
                    .limits
                    .admits_executable_under(&foreseen.path, none)
                    .is_err();
        let from = diff::quoted("", planned.path);
        let (diff, hidden) = diff::unified(pair, self.reader);
        let bytes = |side: Option<Side<'_>>| side.map_or(0, |side| side.bytes.len());
        self.files.push(Shown {
            protected,
            summary: format!(
                "{}: {}, {} bytes before, {} bytes after{}{}\n",
                diff::quoted("", &foreseen.path),
                match foreseen.kind {
                    ReportedChange::Create => "created".to_owned(),
                    ReportedChange::Modify => "changed".to_owned(),
                    ReportedChange::Delete => "deleted".to_owned(),
                    ReportedChange::Rename => format!("renamed from {from}"),
                },
                bytes(pair.before),
                bytes(pair.after),
                match hidden {
                    0 => String::new(),
                    hidden => format!(", {} hidden in the diff", counted(hidden, "value")),
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
            counted(more, "more file")
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

/// What a plan with pipelines cannot undo, and what it can, before anything is done.
pub(crate) fn not_undone(plan: &Plan) -> Vec<String> {
    let sentence = |(action, pipeline): (&Action, &Pipeline)| {
        format!(
            "The pipeline `{}` ({}) cannot be undone. If it or a later action fails, the files that the other actions changed are put back, and what the pipeline did stays.",
            pipeline.name, action.id
        )
    };
    plan.pipelines().map(sentence).collect()
}
