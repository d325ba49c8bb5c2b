//! The decisions of a person.

use std::time::Duration;

use super::{
    super::{
        super::{Alone, Dependants, Name},
        Settled,
        requests::policy,
    },
    Stage, Step,
};
use crate::{
    ledger::{Wish, settle::Case},
    people::{Gesture, Happened, Reading},
    task::Answer,
};

impl Stage<'_> {
    pub(super) fn resolve(&mut self, run: usize, settled: Settled) -> Step {
        let id = self.id(run);
        let text = format!(r#"{{"success":true,"person":"{id}"}}"#);
        let expected = self.reference.resolve(run, settled, &text);
        let answer = |_: &Case| text.clone();
        let happened = match settled {
            Settled::Happened => Happened::Yes(&answer),
            Settled::DidNot => Happened::No,
        };
        let mut ledger = self.ledger();
        let resolved = patiently(expected, || ledger.resolve(&id, happened, None));
        self.idle.push(ledger);
        self.decided(
            &format!("{id} is settled as {settled:?}"),
            expected,
            &resolved,
        )
    }

    pub(super) fn revoke(&mut self, at: usize, dependants: Dependants) -> Step {
        let session = self.reference.answers[at].call.session;
        let before = &self.reference.answers[..at];
        let step = before
            .iter()
            .filter(|answer| answer.call.session == session);
        let number = step.count().to_string();
        let name = Name {
            text: &number,
            session: Some(session),
            alone: Alone::Refused,
        };
        let what = format!(
            "answer {number} of {session} ({:?} of {}) is revoked, {dependants:?} dependants",
            self.reference.answers[at].state, self.reference.answers[at].op
        );
        let expected = self.reference.revoke(at, dependants);
        let mut ledger = self.ledger();
        let revoked = ledger.revoke(name, dependants, None);
        self.idle.push(ledger);
        self.decided(&what, expected, &revoked)
    }

    pub(super) fn vote(&mut self, at: usize, answer: Answer) -> Step {
        let expected = self.reference.vote(at, answer == Answer::Approved);
        let id = self.reference.asking(at).to_owned();
        let now = self.host().timestamp();
        let mut reading = Reading::of(self.scene.place.store(Wish::Read).unwrap(), now);
        let (case, _) = reading.approval(&id).unwrap();
        let mut ledger = self.ledger();
        let voted = ledger.vote(
            &case,
            answer,
            Gesture::Terminal,
            (policy(), Vec::new()),
            None,
        );
        self.idle.push(ledger);
        self.decided(
            &format!("the approval for {id} is decided: {answer:?}"),
            expected,
            &voted.map_err(|failure| failure.message),
        )
    }

    /// Whether a decision was taken as the reference says.
    fn decided<T, E: std::fmt::Display>(
        &mut self,
        what: &str,
        expected: bool,
        got: &Result<T, E>,
    ) -> Step {
        let said = got.as_ref().err().map(ToString::to_string);
        let refused = said.map_or_else(String::new, |error| format!(": refused, {error}"));
        self.told.push(format!("{what}{refused}"));
        if got.is_ok() == expected {
            return Ok(());
        }
        let says = if expected { "takes" } else { "refuses" };
        Err(format!("but the reference {says} this decision"))
    }
}

/// Tries again for a moment what must succeed: a child that another test starts has the locks of this process until it is
/// executed.
fn patiently<T, E>(must: bool, mut act: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 0..50 {
        match act() {
            Err(_) if must => std::thread::sleep(Duration::from_millis(10)),
            done => return done,
        }
    }
    act()
}
