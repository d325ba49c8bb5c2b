//! What the decisions of a person do.

use super::{
    super::{
        super::{Dependants, RowState},
        Settled,
    },
    EXPIRES, Reference, State,
};

const DAY: u32 = 24 * 60;

impl Reference {
    /// Whether a person may settle that run.
    pub(in super::super) fn resolve(&mut self, run: usize, settled: Settled, text: &str) -> bool {
        let of = &mut self.runs[run];
        let is_open = of.state == State::Unknown || of.may_have_happened() && !of.lives;
        if !is_open {
            return false;
        }
        of.state = State::Closed;
        if settled == Settled::DidNot {
            of.undone = true;
            return true;
        }
        let is_for_the_dead = !self
            .answers
            .iter()
            .any(|answer| answer.op == self.runs[run].op);
        self.record(run, RowState::Done, text, false, true);
        if let Some(answer) = self.answers.last_mut() {
            answer.is_for_the_dead = is_for_the_dead;
        }
        true
    }

    /// Whether a person may revoke that answer.
    pub(in super::super) fn revoke(&mut self, at: usize, dependants: Dependants) -> bool {
        if self.answers[at].revoked {
            return false;
        }
        for (number, answer) in self.answers.iter_mut().enumerate() {
            let along = answer.from == Some(at) && dependants == Dependants::Revoked;
            answer.revoked |= number == at || along;
        }
        let answer = &self.answers[at];
        if answer.state == RowState::Done {
            self.runs[answer.run].undone = true;
        }
        true
    }

    /// The operation that asked for an approval.
    pub(in super::super) fn asking(&self, at: usize) -> &str {
        &self.requests[at].op
    }

    pub(in super::super) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Whether a person may decide about that request.
    pub(in super::super) fn vote(&mut self, at: usize, approve: bool) -> bool {
        let asked = &mut self.requests[at];
        let is_open = !asked.is_closed && !asked.is_denied && self.minutes < asked.at + EXPIRES;
        if is_open {
            asked.is_approved |= approve;
            asked.is_denied |= !approve;
        }
        is_open
    }

    /// Removes what is older than a day, but not of what is open.
    pub(in super::super) fn prune(&mut self) {
        for answer in &mut self.answers {
            let run = &self.runs[answer.run];
            let is_open = run.op == answer.op && run.state != State::Closed;
            if self.minutes - answer.at >= DAY && !is_open {
                answer.text = None;
            }
        }
    }
}
