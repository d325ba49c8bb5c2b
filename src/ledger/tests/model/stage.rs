//! Performs a sequence on a ledger, and compares each step with the reference.

mod persons;

use camino::Utf8Path;

use super::{
    super::*,
    Call, End, Kind, Op, RUNS, Where,
    reference::{Passed, Reference, Said},
    requests::{asked, policy},
};
use crate::{
    approval::request::{Intended, Passage},
    evidence::Signers,
    ledger::{ApprovalNote, Wish},
    people::PruneWish,
    task::{Answer, Fault},
};

/// What the processes of a sequence have: ids and clocks.
struct Scene {
    ids: Vec<String>,
    hosts: Vec<Host>,
    place: Where,
    dir: camino::Utf8PathBuf,
}

/// A run that performs its request. The number is that of the reference.
struct Acting<'s> {
    run: usize,
    ask: Ask<'s>,
    ledger: Ledger<'s>,
    running: Running,
}

pub(super) struct Stage<'s> {
    scene: &'s Scene,
    reference: Reference,
    acting: Vec<Acting<'s>>,
    /// Open ledgers that nobody uses now.
    idle: Vec<Ledger<'s>>,
    /// What happened, for people.
    told: Vec<String>,
}

/// The result of a step; the error says what differs.
type Step = Result<(), String>;

const DAY: Duration = Duration::from_hours(24);

impl Stage<'_> {
    /// Performs a sequence. The error has all its steps, and says what is not as in the reference.
    pub(super) fn play(ops: &[Op], place: &Where, dir: &Utf8Path) -> Step {
        let begin: jiff::Zoned = "2026-02-24T10:00:00+08:00[Asia/Singapore]".parse().unwrap();
        let mut minutes = 0;
        let hosts = ops.iter().zip(1..).map(|(op, seed)| {
            if let Op::Pass(more) = op {
                minutes += more;
            }
            let now = &begin + jiff::Span::new().minutes(i64::from(minutes));
            Host::new(Some(now), Some(seed), Interrupts::catch())
        });
        let scene = Scene {
            hosts: hosts.collect(),
            ids: (0..ops.len()).map(|at| format!("op_{at:02}")).collect(),
            place: place.clone(),
            dir: dir.to_owned(),
        };
        let mut stage = Stage {
            scene: &scene,
            reference: Reference::default(),
            acting: Vec::new(),
            idle: Vec::new(),
            told: Vec::new(),
        };
        let mut played = ops.iter().try_for_each(|op| {
            let step = stage.step(*op);
            stage.reference.tick += 1;
            step
        });
        stage.reference.tick = stage.reference.tick.min(ops.len() - 1);
        played = played.and_then(|()| stage.compare_rows());
        played.map_err(|why| format!("{}\n{why}", stage.told.join("\n")))
    }
}

impl<'s> Stage<'s> {
    fn host(&self) -> &'s Host {
        &self.scene.hosts[self.reference.tick]
    }

    /// A ledger that a new process has opened.
    fn ledger(&mut self) -> Ledger<'s> {
        let host = self.host();
        let mut ledger = self.idle.pop().unwrap_or_else(|| {
            let scene = self.scene;
            Ledger::open(&scene.place, &scene.dir, Wish::Write, host).unwrap()
        });
        ledger.host = host;
        ledger
    }

    fn step(&mut self, op: Op) -> Step {
        match op {
            Op::Begin(call) if self.acting.len() < RUNS => self.begin(call),
            Op::Send(at) if !self.acting.is_empty() => self.send(at % self.acting.len()),
            Op::Finish(at, end) if !self.acting.is_empty() => {
                self.finish(at % self.acting.len(), end)
            }
            Op::Die(at) if !self.acting.is_empty() => {
                let dead = self.acting.remove(at % self.acting.len());
                self.reference.lose(dead.run);
                self.told.push(format!("{} dies", self.id(dead.run)));
                Ok(())
            }
            Op::Lose(at) if !self.acting.is_empty() => {
                let at = at % self.acting.len();
                let run = self.acting[at].run;
                self.acting[at].ledger.store = self.scene.place.store(Wish::Write).unwrap();
                self.reference.lose(run);
                self.told.push(format!("{} loses its lock", self.id(run)));
                Ok(())
            }
            Op::Resolve(at, settled) if !self.reference.runs.is_empty() => {
                self.resolve(at % self.reference.runs.len(), settled)
            }
            Op::Revoke(at, dependants) if !self.reference.answers.is_empty() => {
                self.revoke(at % self.reference.answers.len(), dependants)
            }
            Op::Approve(at) if self.reference.requests() > 0 => {
                self.vote(at % self.reference.requests(), Answer::Approved)
            }
            Op::Deny(at) if self.reference.requests() > 0 => {
                self.vote(at % self.reference.requests(), Answer::Denied)
            }
            Op::Prune => {
                self.told.push("prune".to_owned());
                self.reference.prune();
                let mut ledger = self.ledger();
                let pruned = ledger.prune(DAY, PruneWish::Prune);
                self.idle.push(ledger);
                pruned.map(drop).map_err(|error| error.to_string())
            }
            Op::Pass(minutes) => {
                self.reference.minutes += minutes;
                self.told.push(format!("{minutes} minutes pass"));
                Ok(())
            }
            // There is nothing of that kind.
            _ => Ok(()),
        }
    }

    fn id(&self, run: usize) -> String {
        self.reference.runs[run].op.clone()
    }

    fn begin(&mut self, call: Call) -> Step {
        let scene = self.scene;
        let id = &scene.ids[self.reference.tick];
        let expected = self.reference.begin(id, call);
        let lives = matches!(expected, Said::Stopped { lives: true, .. });
        let ask = Ask {
            // A child that another test starts has the locks of this process until it is executed.
            patience: if lives {
                Duration::ZERO
            } else {
                Duration::from_millis(500)
            },
            ..asked(id, call)
        };
        let world = Around {
            now: self.host().timestamp(),
            ..Around::default()
        };
        let mut ledger = self.ledger();
        let begun = begin(&mut ledger, &ask, &world);
        let (got, running) = match begun {
            Ok(Reply::Run(running)) => (Said::Perform, Some(running)),
            Ok(Reply::Answered(answered)) => {
                let state = match answered.how {
                    Again::Replayed => RowState::Replayed,
                    Again::Reused => RowState::Reused,
                    Again::Suppressed => RowState::Suppressed,
                };
                (Said::Again(state, answered.original.response), None)
            }
            Err(LedgerError::Conflict { .. }) => (Said::Conflict, None),
            Err(LedgerError::InFlight { .. }) => (Said::stopped(true, false), None),
            Err(LedgerError::Unknown { .. }) => (Said::stopped(false, true), None),
            Err(error) => return Err(format!("{id} begins {call}: {error}")),
        };
        self.told.push(format!("{id} begins {call}: {got:?}"));
        match running {
            Some(running) => self.acting.push(Acting {
                run: self.reference.runs.len().saturating_sub(1),
                ask,
                ledger,
                running,
            }),
            None => self.idle.push(ledger),
        }
        expected.must_be(&got)
    }

    fn send(&mut self, at: usize) -> Step {
        let host = self.host();
        let acting = &mut self.acting[at];
        let (run, needs) = (acting.run, acting.ask.entry_digest == Kind::Pay.id());
        if self.reference.runs[run].sent {
            return Ok(());
        }
        let expected = self.reference.send(run);
        let intended = Intended {
            policy: policy(),
            intent_hash: "sha256:1".to_owned(),
            preview_hash: None,
            signers: Vec::new(),
        };
        acting.ledger.host = host;
        let passage =
            acting
                .ledger
                .dispatch(&acting.ask, &acting.running, needs.then_some(&intended));
        let mut note = None;
        let got = match passage {
            Ok(Passage::Dispatched) => Passed::Sent,
            Ok(Passage::Ask) => {
                let now = host.timestamp();
                note = Some(ApprovalNote::request(
                    &acting.ask.who,
                    &intended,
                    now,
                    [0; 16],
                ));
                Passed::Ask
            }
            Ok(Passage::Wait(_)) => Passed::Wait,
            Ok(Passage::Refused {
                fault: Fault::ApprovalExpired,
                case,
                ..
            }) => {
                note = Some(ApprovalNote::Ends {
                    id: case.request.id,
                });
                Passed::Expired
            }
            Ok(Passage::Refused {
                fault: Fault::ApprovalDenied,
                ..
            }) => Passed::Denied,
            Err(LedgerError::InFlight { .. } | LedgerError::Unknown { .. }) => Passed::Taken,
            other => return Err(format!("{} is to be sent: {other:?}", self.id(run))),
        };
        let id = self.id(run);
        self.told.push(format!("{id} is to be sent: {got:?}"));
        if got != expected {
            return Err(format!("but the reference says {expected:?}"));
        }
        match got {
            Passed::Sent if !self.reference.may_happen(run) => {
                Err("but an earlier call of this request may have happened".to_owned())
            }
            Passed::Sent => Ok(()),
            // The program ends such a run without an answer.
            Passed::Taken => {
                let acting = self.acting.remove(at);
                self.reference.lose(run);
                let mut ledger = acting.ledger;
                ledger.let_go(acting.running);
                self.idle.push(ledger);
                Ok(())
            }
            Passed::Ask | Passed::Wait | Passed::Denied | Passed::Expired => {
                let text = text_of(&id);
                self.reference.hold(run, got, &text);
                let held = Ended {
                    approval: note,
                    state: match got {
                        Passed::Ask | Passed::Wait => RowState::Pending,
                        _ => RowState::Rejected,
                    },
                    ..failed()
                };
                self.record(at, held, text)
            }
        }
    }

    fn finish(&mut self, at: usize, end: End) -> Step {
        let run = self.acting[at].run;
        let is_sent = self.reference.runs[run].sent;
        let is_once = self.acting[at].ask.effects == Effects::Once;
        let end = match end {
            End::Done | End::Unclear if !is_sent => return Ok(()),
            End::Failed { recoverable, .. } if !is_sent => End::Failed {
                recoverable,
                effect: Effect::None,
            },
            end => end,
        };
        let is_open = is_once && is_sent && matches!(end, End::Unclear | End::Cancelled);
        let (recoverable, effect) = match end {
            End::Done => (false, Effect::Done),
            End::Failed {
                recoverable,
                effect,
            } => (recoverable, effect),
            End::Unclear | End::Cancelled => (!is_open, Effect::Unknown),
        };
        let state = match end {
            _ if is_open => RowState::Unknown,
            End::Done => RowState::Done,
            End::Cancelled => RowState::Cancelled,
            End::Failed { .. } | End::Unclear => RowState::Failed,
        };
        let base = if end == End::Done { ended() } else { failed() };
        let ended = Ended {
            state,
            told: Told {
                effect,
                recoverable,
            },
            ..base
        };
        let id = self.id(run);
        let text = text_of(&id);
        self.reference.finish(run, end, &text);
        self.told.push(format!("{id} ends: {end:?}"));
        self.record(at, ended, text)
    }

    fn record(&mut self, at: usize, ended: Ended, response: String) -> Step {
        let now = self.host().timestamp();
        let Acting {
            ask,
            mut ledger,
            running,
            ..
        } = self.acting.remove(at);
        ledger.host = self.host();
        let ended = Ended {
            response,
            began: now,
            at: now,
            ..ended
        };
        let recorded = ledger.finish(&ask, running, ended);
        self.idle.push(ledger);
        match recorded.head {
            Some(_) => Ok(()),
            None => Err(format!(
                "but its answer is not recorded: {:?}",
                recorded.notes
            )),
        }
    }

    /// Whether the ledger is whole, and has exactly the rows that were told.
    fn compare_rows(&mut self) -> Step {
        let mut ledger = self.ledger();
        let verdict =
            crate::evidence::verify::verify(&mut ledger, Vec::new(), Signers::Nobody).unwrap();
        if let Some(broken) = verdict.broken {
            return Err(format!("but `verify` finds {broken:?}"));
        }
        for session in ["s", "t"] {
            let rows = read::<_, StoreError>(&mut *ledger.store, |tx| {
                tx.rows(&Which::session(session), usize::MAX)
            });
            let got = rows.unwrap().into_iter().map(|row| {
                let state = row.state.unwrap();
                (
                    row.operation_id,
                    state,
                    row.response,
                    row.revoked_by.is_some(),
                )
            });
            let of_session = self.reference.answers.iter();
            let of_session = of_session.filter(|answer| answer.call.session == session);
            let expected = of_session.map(|answer| {
                let (op, text) = (answer.op.clone(), answer.text.clone());
                (op, answer.state, text, answer.revoked)
            });
            let (got, expected): (Vec<_>, Vec<_>) = (got.collect(), expected.collect());
            if got != expected {
                return Err(format!(
                    "but the rows of {session} are\n{got:#?}\nand the reference has\n{expected:#?}"
                ));
            }
        }
        Ok(())
    }
}

impl Said {
    const fn stopped(lives: bool, unknown: bool) -> Self {
        Self::Stopped { lives, unknown }
    }

    /// If several runs stand in the way, the ledger may name any of them.
    fn must_be(&self, got: &Self) -> Step {
        let fits = match (self, got) {
            (
                Self::Stopped { lives, unknown },
                Self::Stopped {
                    lives: waits,
                    unknown: refuses,
                },
            ) => *lives && *waits || *unknown && *refuses,
            (expected, got) => expected == got,
        };
        if fits {
            Ok(())
        } else {
            Err(format!("but the reference says {self:?}"))
        }
    }
}

fn text_of(id: &str) -> String {
    format!(r#"{{"success":true,"run":"{id}"}}"#)
}
