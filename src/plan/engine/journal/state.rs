//! The events of a plan, and what they say together.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    plan::{
        at::At,
        change::Change,
        record::{Ending, Run, Undo},
    },
    task::{RelPath, Sanction},
    tree::Birth,
};

use super::{Origin, VERSION};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// The report directory was made. Nothing of the tree has changed.
    Begin(Begin),
    /// The plan and its actions.
    Run(Run),
    /// A slot beside a file on another mount is about to be made.
    Beside(RelPath),
    /// The changes of a part are staged. When this record is on the disk, they may be made.
    Ready(Undo),
    /// These changes are begun. Where this record is lost, their slots may have been written in part.
    Apply,
    /// A pipeline is about to be started. It is not undone.
    Started(Started),
    /// It has ended: completed, or for this reason not.
    Ended { failure: Option<String> },
    /// Nothing more is changed by the plan.
    End { end: End, ending: Box<Ending> },
    /// A rollback has put the files of these checkpoints back.
    Undone { checkpoints: Vec<Uuid>, at: At },
    /// The time of the backups was over, and they were removed.
    Expired,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Begin {
    pub(crate) version: u32,
    /// The run that applies the plan.
    pub(crate) operation: String,
    /// Of the journal's own file; none where the file system keeps no birth times.
    pub(crate) birth: Option<Birth>,
    /// The inode of the root.
    pub(crate) root: u64,
    /// The preview hash of an approved plan, which may change protected files.
    pub(crate) approved: Option<String>,
}

/// What a plan has left in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum End {
    /// Every change was made, and is on the disk.
    Done,
    /// Every change is undone, except for files that others had changed. The `spared` slots and backups contain what would
    /// otherwise be lost.
    RolledBack { spared: Vec<RelPath> },
    /// The plan ended before its first change.
    NothingChanged,
}

/// A pipeline that was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Started {
    pub(crate) action: String,
    pub(crate) pipeline: String,
    /// By the clock of the run, in RFC 3339.
    pub(crate) at: String,
    /// By the clock of the file system, in nanoseconds since 1970.
    pub(crate) since: i64,
    /// The directories that it may write to.
    pub(crate) writes: Vec<RelPath>,
}

/// A pipeline as the journal knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PipelineNote {
    pub(crate) started: Started,
    /// `None`: the run was interrupted while it ran, or just before or after.
    pub(crate) end: Option<Result<(), String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum State {
    /// The journal says nothing.
    #[default]
    Empty,
    /// No change is staged yet.
    Begun,
    /// Changes may have been made.
    Ready,
    Done,
    RolledBack,
    /// The plan ended before its first change.
    NothingChanged,
    /// Written by a later version of this program, or damaged.
    Foreign,
}

/// What the events of a journal say together.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Account {
    pub(crate) state: State,
    pub(crate) origin: Origin,
    /// The run that applies the plan.
    pub(crate) operation: String,
    /// What a person approved. Only a journal that was written here can say so.
    pub(crate) sanction: Sanction,
    pub(crate) run: Option<Run>,
    /// The changes of all parts.
    pub(crate) undo: Option<Undo>,
    /// How many of the changes were begun.
    pub(crate) begun: usize,
    /// Slots beside files on other mounts.
    pub(crate) beside: Vec<RelPath>,
    /// What a rollback left because it contains what would otherwise be lost.
    pub(crate) spared: Vec<RelPath>,
    /// In the order in which they were started.
    pub(crate) pipelines: Vec<PipelineNote>,
    pub(crate) ending: Option<Ending>,
    /// The checkpoints that rollbacks have put back, and when.
    pub(crate) undone: Vec<(Uuid, At)>,
    pub(crate) has_expired: bool,
}

impl Account {
    pub(crate) fn changes(&self) -> &[Change] {
        self.undo.as_ref().map_or(&[], |undo| &undo.changes)
    }

    /// Whether changes may have been made that the journal records neither as kept nor as undone.
    pub(crate) fn is_under_way(&self) -> bool {
        self.state == State::Ready
    }

    /// Takes in the next event. One that does not fit the state changes nothing.
    pub(super) fn heed(&mut self, event: Event) {
        match (self.state, event) {
            (_, Event::Begin(begin)) if begin.version != VERSION => self.state = State::Foreign,
            (State::Empty, Event::Begin(begin)) => {
                self.state = State::Begun;
                self.operation = begin.operation;
            }
            (State::Begun, Event::Run(run)) => self.run = Some(run),
            (State::Begun | State::Ready, Event::Beside(slot)) => self.beside.push(slot),
            (State::Begun | State::Ready, Event::Ready(part)) => {
                self.state = State::Ready;
                match &mut self.undo {
                    Some(undo) => undo.changes.extend(part.changes),
                    None => self.undo = Some(part),
                }
            }
            (State::Ready, Event::Apply) => self.begun = self.changes().len(),
            (State::Ready, Event::Started(started)) => {
                let end = None;
                self.pipelines.push(PipelineNote { started, end });
            }
            (State::Ready, Event::Ended { failure }) => {
                if let Some(last) = self.pipelines.last_mut() {
                    last.end = Some(failure.map_or(Ok(()), Err));
                }
            }
            (State::Begun | State::Ready, Event::End { end, ending }) => {
                self.ending = Some(*ending);
                self.state = match end {
                    End::Done => State::Done,
                    End::NothingChanged => State::NothingChanged,
                    End::RolledBack { spared } => {
                        self.spared = spared;
                        State::RolledBack
                    }
                };
            }
            (State::Done, Event::Undone { checkpoints, at }) => {
                let new = checkpoints.into_iter().map(|id| (id, at.clone()));
                self.undone.extend(new);
            }
            (State::Done, Event::Expired) => self.has_expired = true,
            _ => {}
        }
    }
}
