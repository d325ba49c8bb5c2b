//! Collects the problems and notes that are found while a plan is read.

use std::cell::RefCell;

use crate::{
    plan::model::{Action, ActionId},
    task::{ActionType, Failure, Fault, Sanction},
};

/// Why a plan was rejected: all its problems, so that they can be corrected at once. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanError {
    /// As far as it could be read.
    pub(crate) plan_id: Option<String>,
    /// One for each item of `action_plan`, as far as it can be read; what has no id is named by its
    /// place: `action_plan[3]`.
    pub(crate) actions: Vec<ActionId>,
    /// At least one; the first decides the fault.
    pub(crate) problems: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) failure: Failure,
    /// The action it is about; nothing in it if it is about the plan as a whole.
    pub(crate) subject: Subject,
}

/// An action, as far as it could be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) action: Option<ActionId>,
    /// As the plan spells it.
    pub(crate) target: Option<String>,
    pub(crate) operation: Option<ActionType>,
}

/// How many problems one message contains, and how many problems and notes are kept.
const TOLD: usize = 5;
const KEPT: usize = 100;

const NAMED: usize = 10;

impl PlanError {
    /// All problems as one failure: the fault of the first, and the messages of the first few.
    pub(crate) fn failure(&self) -> Failure {
        let told = self.problems.iter().take(TOLD);
        let told: Vec<&str> = told.map(|it| it.failure.message.as_str()).collect();
        let more = match self.problems.len() - told.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let message = format!("{}{more}", told.join("; also: "));
        match self.problems.first() {
            Some(Problem { failure, .. }) => Failure {
                message,
                ..*failure
            },
            None => Failure::new(
                Fault::Internal,
                "the plan was rejected without a reason; this is a defect of oneact",
            ),
        }
    }
}

/// The problems and notes so far. Every function that reads a part of the plan adds to them.
#[derive(Debug, Default)]
pub(super) struct Findings {
    list: RefCell<List>,
    sanction: Sanction,
}

#[derive(Debug, Default)]
struct List {
    problems: Vec<Problem>,
    notes: Vec<String>,
    /// How many keys are not known, and where the first of them are.
    strangers: (usize, Vec<String>),
    subject: Subject,
}

impl Findings {
    /// The findings about a plan under that sanction.
    pub(super) fn under(sanction: &Sanction) -> Self {
        Self {
            sanction: sanction.clone(),
            ..Self::default()
        }
    }

    /// Records that the plan itself asks for the approval of a person.
    pub(super) fn asks_for_approval(&self, message: String) {
        if self.sanction == Sanction::None {
            self.problem(Fault::ApprovalRequired, message);
        }
    }

    /// Adds a problem of the current subject.
    pub(super) fn problem(&self, fault: Fault, message: impl Into<String>) {
        self.failure(Failure::new(fault, message));
    }

    pub(super) fn failure(&self, failure: Failure) {
        let mut list = self.list.borrow_mut();
        if list.problems.len() < KEPT {
            let subject = list.subject.clone();
            list.problems.push(Problem { failure, subject });
        }
    }

    /// Adds a problem: the plan does not match its schema.
    pub(super) fn invalid(&self, message: impl Into<String>) {
        self.problem(Fault::PlanInvalid, message);
    }

    /// Adds a note, unless there are too many.
    pub(super) fn note(&self, note: impl Into<String>) {
        let notes = &mut self.list.borrow_mut().notes;
        if notes.len() < KEPT {
            notes.push(note.into());
        }
    }

    /// Adds an important note, regardless of the number of notes.
    pub(super) fn note_in_any_case(&self, note: String) {
        self.list.borrow_mut().notes.push(note);
    }

    /// Notes an unknown key. The place must be printable.
    pub(super) fn stranger(&self, place: &str) {
        self.note(format!("`{place}` is unknown and has no effect"));
        let (count, named) = &mut self.list.borrow_mut().strangers;
        *count += 1;
        if named.len() < NAMED {
            named.push(format!("`{place}`"));
        }
    }

    /// A sentence that names the unknown keys.
    pub(super) fn strangers(&self) -> Option<String> {
        let (count, named) = &self.list.borrow().strangers;
        let more = match count - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let told = || format!("Ignored keys of the plan: {}{more}.", named.join(", "));
        (*count > 0).then(told)
    }

    pub(super) fn is_clean(&self) -> bool {
        self.list.borrow().problems.is_empty()
    }

    /// Sets the subject of the problems that follow; an empty one stands for the whole plan.
    pub(super) fn about(&self, subject: Subject) {
        self.list.borrow_mut().subject = subject;
    }

    /// Adds the failure of a limit for a field of an action.
    pub(super) fn within(&self, place: &str, key: &str, answer: Result<(), Failure>) {
        if let Err(mut failure) = answer {
            failure.message = format!("{} (`{place}.{key}`)", failure.message);
            self.failure(failure);
        }
    }

    /// The problems, the first of which decides, and the notes.
    pub(super) fn ended(self) -> (Vec<Problem>, Vec<String>) {
        let list = self.list.into_inner();
        (list.problems, list.notes)
    }
}

impl Subject {
    pub(super) fn of(action: &Action) -> Self {
        Self {
            action: Some(action.id.clone()),
            target: Some(action.target.to_string()),
            operation: Some(action.operation.action_type()),
        }
    }
}
