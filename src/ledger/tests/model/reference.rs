//! What docs/ledger.md and docs/approvals.md say, for the requests of the model.

mod persons;

use super::{super::RowState, Call, Effect, End, Kind, Mode, Name};

/// What the ledger must say to a run that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    Perform,
    /// An old answer, as a row of that state; without its text if it was pruned.
    Again(RowState, Option<String>),
    Conflict,
    /// Other runs stand in the way. The one that lives is waited for, and the other may have made its call.
    Stopped {
        lives: bool,
        unknown: bool,
    },
}

/// What the ledger must say to a run that is about to send its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    Sent,
    /// Another run or a person has the claim now.
    Taken,
    /// An approval must be requested.
    Ask,
    Wait,
    Denied,
    Expired,
}

/// A run that was to perform its request.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) op: String,
    call: Call,
    state: State,
    /// Whether it holds its lock.
    lives: bool,
    began: usize,
    /// Whether its call does not count as made: it failed, it did not happen, or its answer was revoked.
    undone: bool,
    pub(super) sent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Claimed,
    Sent,
    Unknown,
    /// The claim was settled by the run, by a person, or by a run that took it over.
    Closed,
}

/// A row.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Answer {
    pub(super) op: String,
    pub(super) call: Call,
    pub(super) state: RowState,
    pub(super) text: Option<String>,
    pub(super) revoked: bool,
    /// The run whose answer it is.
    run: usize,
    /// The answer that it repeats.
    from: Option<usize>,
    is_success: bool,
    /// Whether another try may help, and repeats nothing.
    may_be_tried: bool,
    /// A person gave it for a run that left none.
    is_for_the_dead: bool,
    at: u32,
}

/// A request for an approval.
#[derive(Debug)]
struct Request {
    op: String,
    call: Call,
    at: u32,
    is_approved: bool,
    is_denied: bool,
    /// It was used, replaced or ended.
    is_closed: bool,
}

#[derive(Debug, Default)]
pub(super) struct Reference {
    pub(super) runs: Vec<Run>,
    pub(super) answers: Vec<Answer>,
    requests: Vec<Request>,
    /// The sessions and runs of operations with effects, and when they began or ended.
    changes: Vec<(&'static str, usize, usize)>,
    /// The number of the step of the sequence.
    pub(super) tick: usize,
    pub(super) minutes: u32,
}

const EXPIRES: u32 = 15;
const TTL: u32 = 60;

impl Reference {
    pub(super) fn begin(&mut self, op: &str, call: Call) -> Said {
        match self.decide(call) {
            Ok((state, from)) => {
                let old = &self.answers[from];
                let text = old.text.clone();
                self.answers.push(Answer {
                    op: op.to_owned(),
                    call,
                    state,
                    text: text.clone(),
                    revoked: false,
                    run: old.run,
                    from: Some(old.from.unwrap_or(from)),
                    is_success: old.is_success,
                    may_be_tried: old.may_be_tried,
                    is_for_the_dead: false,
                    at: self.minutes,
                });
                Said::Again(state, text)
            }
            Err(Said::Perform) => {
                for run in &mut self.runs {
                    if run.has_key_of(call) {
                        run.state = State::Closed;
                    }
                }
                self.runs.push(Run {
                    op: op.to_owned(),
                    call,
                    state: State::Claimed,
                    lives: true,
                    began: self.tick,
                    undone: false,
                    sent: false,
                });
                Said::Perform
            }
            Err(said) => said,
        }
    }

    /// The three questions: the answer that is given again and how, or what else is said.
    fn decide(&self, call: Call) -> Result<(RowState, usize), Said> {
        // 1. Is it the same delivery?
        let delivered = self.answers.iter().rposition(|answer| {
            answer.is_result() && !answer.is_for_the_dead && answer.call.is_same_delivery(call)
        });
        if let Some(at) = delivered.filter(|at| !self.answers[*at].revoked) {
            let last = &self.answers[at];
            let is_keyed = call.name == Name::Key;
            if last.is_success || call.name != Name::Uncounted {
                if last.call.kind != call.kind {
                    return Err(Said::Conflict);
                }
                if last.is_success || !is_keyed || !last.may_be_tried {
                    return Ok((RowState::Replayed, at));
                }
            }
        }
        // 2. Was the same request performed?
        let success = self.success(call);
        match call.kind.mode() {
            Mode::Reuse if success.is_some_and(|at| self.is_good(at)) => {
                return Ok((RowState::Reused, success.unwrap()));
            }
            Mode::Suppress if success.is_some_and(|at| !self.answers[at].revoked) => {
                return Ok((RowState::Suppressed, success.unwrap()));
            }
            Mode::Repeat | Mode::Reuse | Mode::Suppress => {}
        }
        // Question 1 asks for the answers and the runs of the delivery. The ledger asks here, after question 2, for those
        // that no row names: the answer that a person gave for a run that left none, and the runs that have not ended. So a
        // delivery that comes with another content can get an old answer to that content instead of a refusal.
        let given = self.answers.iter().rposition(|answer| {
            answer.is_for_the_dead && !answer.revoked && answer.call.is_same_delivery(call)
        });
        if let Some(at) = given.filter(|at| Some(*at) > delivered) {
            return if self.answers[at].call.kind == call.kind {
                Ok((RowState::Replayed, at))
            } else {
                Err(Said::Conflict)
            };
        }
        // When a run dies.
        let (mut lives, mut unknown) = (false, false);
        for run in self.runs.iter().filter(|run| run.stands_against(call)) {
            lives |= run.lives;
            unknown |= run.may_have_happened() && !run.lives;
        }
        if lives || unknown {
            return Err(Said::Stopped { lives, unknown });
        }
        Err(Said::Perform)
    }

    /// The newest success of the same request that a run or a person has recorded.
    fn success(&self, call: Call) -> Option<usize> {
        self.answers
            .iter()
            .rposition(|answer| answer.state == RowState::Done && answer.call.is_same_request(call))
    }

    /// 3. Is the old answer still valid?
    fn is_good(&self, at: usize) -> bool {
        let answer = &self.answers[at];
        let run = &self.runs[answer.run];
        let changed = self.changes.iter().any(|(session, by, tick)| {
            *session == answer.call.session && *by != answer.run && *tick > run.began
        });
        let is_declared = answer.call.kind == Kind::Look;
        let is_young = self.minutes - answer.at < TTL && !changed;
        !answer.revoked && answer.text.is_some() && (is_young || !is_declared)
    }

    pub(super) fn send(&mut self, run: usize) -> Passed {
        let (session, kind) = (self.runs[run].call.session, self.runs[run].call.kind);
        let state = self.runs[run].state;
        if kind == Kind::Look {
            // What changes nothing is not recorded before its answer.
            self.runs[run].sent = true;
            return Passed::Sent;
        }
        let call = self.runs[run].call;
        let mut others = self.runs.iter();
        // Its own state is `Claimed`, so it is not among them.
        let is_sent = |other: &Run| other.call.is_same_action(call) && other.may_have_happened();
        if state != State::Claimed || others.any(is_sent) {
            return Passed::Taken;
        }
        if kind == Kind::Pay {
            let now = self.minutes;
            match self.requests.iter_mut().rfind(|asked| asked.is_for(call)) {
                Some(asked) if asked.is_closed => return Passed::Ask,
                Some(asked) if asked.is_denied => return Passed::Denied,
                Some(asked) if now >= asked.at + EXPIRES => return Passed::Expired,
                Some(asked) if asked.is_approved => asked.is_closed = true,
                Some(_) => return Passed::Wait,
                None => return Passed::Ask,
            }
        }
        if kind.changes() {
            self.changes.push((session, run, self.tick));
        }
        self.runs[run].state = State::Sent;
        self.runs[run].sent = true;
        Passed::Sent
    }

    /// Whether a once-only call may be made: no earlier one of the same request that may have happened counts, of an
    /// entry that says `repeat` only those of the same delivery; and no open one of the same action.
    pub(super) fn may_happen(&self, run: usize) -> bool {
        let call = self.runs[run].call;
        let is_same = |other: &Run| {
            let same_delivery = other.call.is_same_delivery(call);
            other.call.is_same_request(call) && (call.kind.mode() != Mode::Repeat || same_delivery)
        };
        let stands = |other: &Run| {
            let may_have_happened = other.call.is_same_action(call) && other.may_have_happened();
            may_have_happened || is_same(other) && other.sent && !other.undone
        };
        let mut others = self.runs.iter().enumerate();
        !call.kind.is_once() || !others.any(|(at, other)| at != run && stands(other))
    }

    /// The answer of a run, and the state of its row.
    pub(super) fn finish(&mut self, run: usize, end: End, text: &str) -> RowState {
        let of = &mut self.runs[run];
        let is_open = of.call.kind.is_once() && of.sent;
        let (mut state, may_be_tried) = match end {
            End::Done => (RowState::Done, false),
            End::Unclear | End::Cancelled if is_open => (RowState::Unknown, false),
            End::Cancelled => (RowState::Cancelled, false),
            End::Unclear => (RowState::Failed, !of.call.kind.is_once()),
            End::Failed {
                recoverable,
                effect,
            } => (
                RowState::Failed,
                recoverable && (effect == Effect::None || !of.call.kind.is_once()),
            ),
        };
        let is_late = of.state == State::Closed;
        if !is_late {
            of.undone = state == RowState::Failed;
            of.state = match state {
                RowState::Unknown => State::Unknown,
                _ => State::Closed,
            };
        }
        if is_late {
            state = RowState::Late;
        }
        self.record(run, state, text, may_be_tried, end == End::Done);
        state
    }

    /// A run that was held back for an approval.
    pub(super) fn hold(&mut self, run: usize, passed: Passed, text: &str) {
        let call = self.runs[run].call;
        self.runs[run].state = State::Closed;
        let mut asked = self.requests.iter_mut().rfind(|asked| asked.is_for(call));
        if let (Some(asked), Passed::Ask | Passed::Expired) = (&mut asked, passed) {
            asked.is_closed = true;
        }
        if passed == Passed::Ask {
            self.requests.push(Request {
                op: self.runs[run].op.clone(),
                call,
                at: self.minutes,
                is_approved: false,
                is_denied: false,
                is_closed: false,
            });
        }
        let state = match passed {
            Passed::Ask | Passed::Wait => RowState::Pending,
            _ => RowState::Rejected,
        };
        self.record(run, state, text, false, false);
    }

    fn record(&mut self, run: usize, state: RowState, text: &str, tried: bool, success: bool) {
        let of = &self.runs[run];
        self.answers.push(Answer {
            op: of.op.clone(),
            call: of.call,
            state,
            text: Some(text.to_owned()),
            revoked: false,
            run,
            from: None,
            is_success: success,
            may_be_tried: tried,
            is_for_the_dead: false,
            at: self.minutes,
        });
        // The ledger also counts the end of a run that made no call: it failed before, or waits for an approval.
        if of.call.kind.changes() {
            self.changes.push((of.call.session, run, self.tick));
        }
        self.runs[run].lives = false;
    }

    /// The run is gone, or has lost its lock.
    pub(super) fn lose(&mut self, run: usize) {
        self.runs[run].lives = false;
    }
}

impl Run {
    fn may_have_happened(&self) -> bool {
        self.call.kind.is_once() && matches!(self.state, State::Sent | State::Unknown)
    }

    /// Whether it may keep that call from being made: it is of the same delivery or, unless duplicates are repeated, of
    /// the same request; or its outcome is unknown, and it is the same request of the same task. In any session, it may be
    /// of the same action.
    fn stands_against(&self, call: Call) -> bool {
        let is_same = self.call.is_same_request(call);
        let is_open = self.state != State::Closed;
        let of_task = self.call.name.task().is_some() && self.call.name.task() == call.name.task();
        is_open
            && (self.call.is_same_delivery(call)
                || self.call.is_same_action(call)
                || is_same && call.kind.mode() != Mode::Repeat
                || is_same && of_task && self.may_have_happened())
    }

    /// Whether a run of that call takes its claim over if it is dead.
    fn has_key_of(&self, call: Call) -> bool {
        let is_repeated = |call: Call| call.kind.mode() == Mode::Repeat;
        match (is_repeated(self.call), is_repeated(call)) {
            (false, false) => self.call.is_same_request(call),
            (true, true) => self.call.is_same_delivery(call),
            _ => false,
        }
    }
}

impl Answer {
    /// Whether it is an answer to its delivery. A repetition of such an answer is found where it was made.
    fn is_result(&self) -> bool {
        matches!(
            self.state,
            RowState::Done | RowState::Failed | RowState::Reused | RowState::Suppressed
        )
    }
}

impl Request {
    fn is_for(&self, call: Call) -> bool {
        self.call.is_same_request(call) && self.call.name.task() == call.name.task()
    }
}
