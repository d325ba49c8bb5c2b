//! Collects the problems and notes that are found while a plan is read.

use std::cell::RefCell;

use crate::{
    plan::model::ActionId,
    task::{ActionType, Failure, Fault, Sanction, few},
};

/// Why a plan was rejected: all its problems, so that they can be corrected at once. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanError {
    /// As far as it could be read.
    pub(crate) plan_id: Option<String>,
    pub(crate) actions: Vec<Named>,
    /// At least one; the first decides the fault.
    pub(crate) problems: Vec<Problem>,
}

/// An item of `action_plan`, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// What has no id is named by its place: `action_plan[3]`.
    pub(crate) id: ActionId,
    /// As the plan spells it.
    pub(crate) target: Option<String>,
    pub(crate) operation: Option<ActionType>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) failure: Failure,
    /// The place in `action_plan` of the action it is about; none if it is about the plan as a whole.
    pub(crate) action: Option<usize>,
}

/// How many problems one message contains, and how many problems and notes are kept.
const TOLD: usize = 5;
const KEPT: usize = 100;

const NAMED: usize = 10;

impl PlanError {
    /// All problems as one failure: the fault of the first, and the messages of the first few.
    pub(crate) fn failure(&self) -> Failure {
        let all = self.problems.iter().map(|it| &it.failure.message);
        let message = few(all, TOLD, "; also: ");
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

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) problems: Vec<Problem>,
    pub(super) notes: Vec<String>,
    /// Where keys are that are not known.
    strangers: Vec<String>,
}

/// Adds to what was found. Every function that reads a part of the plan has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Findings<'f> {
    all: &'f RefCell<Collected>,
    sanction: &'f Sanction,
    action: Option<usize>,
}

impl<'f> Findings<'f> {
    /// The findings about a plan under that sanction.
    pub(super) fn of(all: &'f RefCell<Collected>, sanction: &'f Sanction) -> Self {
        Self {
            all,
            sanction,
            action: None,
        }
    }

    /// The findings about the action at that place.
    pub(super) fn about(self, action: usize) -> Self {
        Self {
            action: Some(action),
            ..self
        }
    }

    pub(super) fn failure(self, failure: Failure) {
        let problems = &mut self.all.borrow_mut().problems;
        if problems.len() < KEPT {
            let action = self.action;
            problems.push(Problem { failure, action });
        }
    }

    pub(super) fn problem(self, fault: Fault, message: impl Into<String>) {
        self.failure(Failure::new(fault, message));
    }

    /// Adds a problem: the plan does not match its schema.
    pub(super) fn invalid(self, message: impl Into<String>) {
        self.problem(Fault::PlanInvalid, message);
    }

    /// The result, or nothing and its failure as a problem.
    pub(super) fn good<T>(self, read: Result<T, Failure>) -> Option<T> {
        read.map_err(|failure| self.failure(failure)).ok()
    }

    /// Adds the failure of a limit for a field of an action.
    pub(super) fn within(self, field: &str, answer: Result<(), Failure>) {
        self.good(answer.map_err(|failure| Failure {
            message: format!("{} (`{field}`)", failure.message),
            ..failure
        }));
    }

    /// The plan itself asks for the approval of a person.
    pub(super) fn asks_for_approval(self, message: String) {
        if *self.sanction == Sanction::None {
            self.problem(Fault::ApprovalRequired, message);
        }
    }

    /// Adds a note, unless there are too many.
    pub(super) fn note(self, note: impl Into<String>) {
        if self.all.borrow().notes.len() < KEPT {
            self.note_in_any_case(note);
        }
    }

    /// Adds an important note, regardless of the number of notes.
    pub(super) fn note_in_any_case(self, note: impl Into<String>) {
        self.all.borrow_mut().notes.push(note.into());
    }

    /// Notes an unknown key. The place must be printable.
    pub(super) fn stranger(self, place: &str) {
        self.note(format!("`{place}` is unknown and has no effect"));
        let strangers = &mut self.all.borrow_mut().strangers;
        strangers.push(format!("`{place}`"));
    }

    pub(super) fn is_clean(self) -> bool {
        self.all.borrow().problems.is_empty()
    }
}

impl Collected {
    /// A sentence that names the unknown keys.
    pub(super) fn strangers(&self) -> Option<String> {
        let named = few(&self.strangers, NAMED, ", ");
        let told = format!("Ignored keys of the plan: {named}.");
        (!named.is_empty()).then_some(told)
    }
}
