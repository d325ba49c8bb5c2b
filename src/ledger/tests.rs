//! The three questions, claims and the outbox, over a ledger in memory.

mod cut;
mod decisions;
mod pruning;
mod tampering;

use std::{cell::RefCell, collections::HashMap, time::Duration};

use camino::Utf8Path;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use super::{
    Ledger,
    record::{ClaimState, Effects, Row, RowOutcome, RowState},
    request::{Asked, AskedStep},
    store::{Memory, StoreError, Which, read},
    validity::{RULES, World},
    words::{
        Again, Ask, Attempt, Begun, Ended, LedgerError, Made, Miss, OnDuplicate, Reuse, Running,
        SeenInput, Unless, Who, Why,
    },
};
use crate::{
    host::{Host, Interrupts},
    task::{Content, Fault, Print, Sight, Still},
};

const NOW: &str = "2026-02-24T02:00:00Z";

fn host() -> Host {
    let now = "2026-02-24T10:00:00+08:00[Asia/Singapore]".parse().unwrap();
    Host::new(Some(now), Some(1), Interrupts::catch())
}

/// A world in which everything is as it was, but for what a test says.
struct Around {
    still: HashMap<&'static str, Still>,
    expires: Option<Timestamp>,
    now: Timestamp,
}

impl Default for Around {
    fn default() -> Self {
        Self {
            still: HashMap::new(),
            expires: None,
            now: NOW.parse().unwrap(),
        }
    }
}

impl World for Around {
    fn still(&self, uri: &str, _: &Print) -> Still {
        self.still.get(uri).copied().unwrap_or(Still::Same)
    }

    fn expires(&self, _: &str) -> Option<Timestamp> {
        self.expires
    }

    fn now(&self) -> Timestamp {
        self.now
    }
}

/// A ledger that several processes have open.
struct Place {
    memory: Memory,
    dir: TempDir,
    host: Host,
}

impl Place {
    fn new() -> Self {
        Self {
            memory: Memory::default(),
            dir: tempfile::tempdir().unwrap(),
            host: host(),
        }
    }

    fn open(&self) -> Ledger<'_> {
        let dir = Utf8Path::from_path(self.dir.path()).unwrap();
        let store = Box::new(self.memory.open());
        Ledger::of(store, &super::Place::default_in(dir), dir, &self.host)
    }

    fn rows(&self) -> Vec<Row> {
        let mut ledger = self.open();
        let rows =
            read::<_, StoreError>(&mut *ledger.store, |tx| tx.rows(&Which::Session("s"), 99));
        rows.unwrap()
    }
}

fn ask(operation: &'static str) -> Ask<'static> {
    let parameters: Map<String, Value> = serde_json::from_value(json!({"a": 1})).unwrap();
    Ask {
        who: Who {
            operation_id: operation,
            session_id: "s",
            context: "AGENT_AUTONOMOUS",
            profile: "default",
            request_id: None,
            idempotency_key: None,
            task_id: Some(operation),
            attempt: Attempt::Said(1),
        },
        asked: Asked {
            steps: vec![AskedStep {
                entry: "CAP-PRE-002".to_owned(),
                version: None,
                parameters,
                volatile: Vec::new(),
                secret: Vec::new(),
            }],
            outputs: vec!["derived_1".to_owned()],
            salt: None,
        },
        request: "{}".to_owned(),
        target: None,
        confidence: None,
        entry_digest: "digest".to_owned(),
        tool_pin: None,
        adjusted: None,
        effects: Effects::Idempotent,
        on_duplicate: OnDuplicate::Reuse { ttl: None },
        reuse: Reuse::Allowed,
        patience: Duration::from_millis(20),
        timeout: Duration::from_mins(1),
    }
}

fn once(operation: &'static str) -> Ask<'static> {
    Ask {
        effects: Effects::Once,
        on_duplicate: OnDuplicate::Suppress(Unless::InputsChanged),
        ..ask(operation)
    }
}

fn seen(uri: &str) -> Print {
    Print {
        uri: uri.to_owned(),
        sight: Sight::Content(Content {
            bytes: 1,
            blake3: "00".to_owned(),
            stat: None,
        }),
    }
}

fn ended() -> Ended {
    let at: Timestamp = NOW.parse().unwrap();
    Ended {
        state: RowState::Done,
        outcome: RowOutcome::Success,
        fault: None,
        response: r#"{"success":true}"#.to_owned(),
        inputs: vec![SeenInput {
            print: seen("in.mp4"),
            changed_meanwhile: false,
        }],
        outputs: vec![Made {
            ref_id: "derived_1".to_owned(),
            storage_uri: "out.wav".to_owned(),
            asset_type: "audio_track".to_owned(),
            capability_id: "CAP-PRE-002".to_owned(),
            parent_ref_id: None,
            print: seen("out.wav"),
        }],
        began: at,
        at,
        duration_ms: 0,
    }
}

fn failed() -> Ended {
    Ended {
        state: RowState::Failed,
        outcome: RowOutcome::Error,
        fault: Some(Fault::OutOfMemory),
        response: r#"{"success":false}"#.to_owned(),
        ..ended()
    }
}

fn begin(ledger: &mut Ledger<'_>, ask: &Ask<'_>, world: &Around) -> Result<Begun, LedgerError> {
    ledger.begin(ask, world, &|| Ok(()))
}

fn running(begun: Result<Begun, LedgerError>) -> Running {
    match begun.unwrap() {
        Begun::Run(running) => running,
        Begun::Answered(answered) => panic!("answered: {:?}", answered.how),
    }
}

/// Why it is done, or why the old answer is given.
fn said(begun: Result<Begun, LedgerError>) -> Result<Why, Again> {
    match begun.unwrap() {
        Begun::Run(running) => Ok(running.why),
        Begun::Answered(answered) => Err(answered.how),
    }
}

/// Does something, from the question to the record.
fn done(place: &Place, ask: &Ask<'_>, ended: &Ended) {
    let mut ledger = place.open();
    let running = running(begin(&mut ledger, ask, &Around::default()));
    ledger.dispatch(ask, &running).unwrap();
    let recorded = ledger.finish(ask, running, ended);
    assert!(recorded.head.is_some(), "{recorded:?}");
}

fn again(place: &Place, ask: &Ask<'_>, world: &Around) -> Result<Why, Again> {
    said(begin(&mut place.open(), ask, world))
}

#[test]
fn the_same_request_is_answered_from_the_record_while_everything_is_as_it_was() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    assert_eq!(
        again(&place, &ask("op_2"), &Around::default()),
        Err(Again::Reused)
    );
    let rows = place.rows();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1].response, rows[0].response);
    assert_eq!(rows[1].reused_from.as_ref(), Some(&rows[0].id));
    assert_eq!((rows[0].step_index, rows[1].step_index), (0, 1));
}

/// What each reason not to reuse comes from.
fn miss(wanted: Miss) -> Result<Why, Again> {
    let place = Place::new();
    let mut first = ended();
    let mut was = ask("op_1");
    let mut now = ask("op_2");
    let mut world = Around::default();
    let still = |uri, still| HashMap::from([(uri, still)]);
    match wanted {
        Miss::Disabled => now.reuse = Reuse::Off,
        Miss::NotSuccessful => first.state = RowState::Partial,
        Miss::Pruned | Miss::Revoked | Miss::LedgerDamaged | Miss::OneactChanged => {}
        Miss::CatalogChanged => now.entry_digest = "other".to_owned(),
        Miss::ToolChanged => now.tool_pin = Some("sha256:…".to_owned()),
        Miss::Expired => {
            now.on_duplicate = OnDuplicate::Reuse {
                ttl: Some(Duration::from_hours(1)),
            };
            world.now = "2026-02-24T03:00:00Z".parse().unwrap();
        }
        Miss::InputChanged => world.still = still("in.mp4", Still::Other),
        Miss::InputChangedDuringRun => first.inputs[0].changed_meanwhile = true,
        Miss::InputUnknown => world.still = still("in.mp4", Still::Unknown),
        Miss::OutputMissing => world.still = still("out.wav", Still::Gone),
        Miss::OutputChanged => world.still = still("out.wav", Still::Other),
        Miss::OutputExpiring => world.expires = Some("2026-02-24T02:04:00Z".parse().unwrap()),
        Miss::Degraded => {
            was.adjusted = Some("{}".to_owned());
            was.who.attempt = Attempt::Said(2);
        }
    }
    done(&place, &was, &first);
    match wanted {
        Miss::Revoked => place.memory.change(|row| row.revoked_by = Some(3)),
        Miss::Pruned => place.memory.change(|row| row.response = None),
        Miss::LedgerDamaged => place
            .memory
            .change(|row| row.response = Some("{}".to_owned())),
        Miss::OneactChanged => {
            // Judged by other rules: sealed as such, so that only this differs.
            place
                .memory
                .reseal(|row| row.oneact_version = "0.0.1+rules.0".to_owned());
        }
        _ => {}
    }
    again(&place, &now, &world)
}

#[test]
fn every_reason_not_to_reuse_is_named() {
    for wanted in Miss::ALL {
        assert_eq!(miss(wanted), Ok(Why::Miss(wanted)), "{}", wanted.name());
    }
    assert!(RULES.starts_with("rules."));
}

#[test]
fn a_clock_that_jumps_back_makes_no_answer_young() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let mut now = ask("op_2");
    now.on_duplicate = OnDuplicate::Reuse {
        ttl: Some(Duration::from_hours(1)),
    };
    let world = Around {
        now: "2026-02-24T01:00:00Z".parse().unwrap(),
        ..Around::default()
    };
    assert_eq!(again(&place, &now, &world), Ok(Why::Miss(Miss::Expired)));
}

#[test]
fn what_nobody_can_look_at_is_believed_for_the_time_that_the_entry_names() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let mut now = ask("op_2");
    now.on_duplicate = OnDuplicate::Reuse {
        ttl: Some(Duration::from_hours(1)),
    };
    let world = Around {
        still: HashMap::from([("in.mp4", Still::Unknown)]),
        ..Around::default()
    };
    assert_eq!(again(&place, &now, &world), Err(Again::Reused));
}

#[test]
fn what_must_not_happen_twice_is_suppressed_unless_it_is_about_something_else_by_now_c_36() {
    let place = Place::new();
    done(&place, &once("op_1"), &ended());
    let other_catalog = Ask {
        entry_digest: "other".to_owned(),
        reuse: Reuse::Off,
        ..once("op_2")
    };
    assert_eq!(
        again(&place, &other_catalog, &Around::default()),
        Err(Again::Suppressed)
    );
    let changed = |uri| Around {
        still: HashMap::from([(uri, Still::Other)]),
        ..Around::default()
    };
    assert_eq!(
        again(&place, &once("op_3"), &changed("out.wav")),
        Err(Again::Suppressed)
    );
    assert_eq!(
        again(&place, &once("op_4"), &changed("in.mp4")),
        Ok(Why::Miss(Miss::InputChanged))
    );
    let files = Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
        ..once("op_5")
    };
    assert_eq!(
        again(&place, &files, &changed("out.wav")),
        Ok(Why::TakenOver)
    );
}

#[test]
fn duplicates_that_are_to_be_repeated_do_not_meet() {
    let place = Place::new();
    let repeat = |operation| Ask {
        on_duplicate: OnDuplicate::Repeat,
        ..ask(operation)
    };
    let (mut one, mut other) = (place.open(), place.open());
    let world = Around::default();
    assert_eq!(said(begin(&mut one, &repeat("op_1"), &world)), Ok(Why::New));
    assert_eq!(
        said(begin(&mut other, &repeat("op_2"), &world)),
        Ok(Why::New)
    );
}

#[test]
fn the_same_delivery_is_replayed_success_or_failure() {
    for end in [ended(), failed()] {
        let place = Place::new();
        done(&place, &ask("op_1"), &end);
        let same = Ask {
            who: Who {
                operation_id: "op_2",
                ..ask("op_1").who
            },
            ..ask("op_1")
        };
        assert_eq!(
            again(&place, &same, &Around::default()),
            Err(Again::Replayed)
        );
    }
}

#[test]
fn a_key_of_the_callers_own_makes_two_deliveries_the_same() {
    let place = Place::new();
    let keyed = |operation| {
        let mut ask = ask(operation);
        ask.who.idempotency_key = Some("k");
        ask
    };
    done(&place, &keyed("op_1"), &ended());
    assert_eq!(
        again(&place, &keyed("op_2"), &Around::default()),
        Err(Again::Replayed)
    );
    let mut other = keyed("op_3");
    other.asked.outputs.clear();
    let refused = begin(&mut place.open(), &other, &Around::default());
    assert!(
        matches!(refused, Err(LedgerError::Conflict { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_failure_is_no_answer_to_the_next_attempt() {
    let place = Place::new();
    done(&place, &ask("op_1"), &failed());
    let mut next = ask("op_2");
    next.who.task_id = Some("op_1");
    next.who.attempt = Attempt::Said(2);
    assert_eq!(again(&place, &next, &Around::default()), Ok(Why::Retry));
    let last = place.open().last_failure("s", "op_1").unwrap().unwrap();
    assert_eq!(last.fault.as_deref(), Some(Fault::OutOfMemory.name()));
}

#[test]
fn a_live_owner_is_waited_for_and_a_dead_one_is_not() {
    let place = Place::new();
    let world = Around::default();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &world));
    let waited = begin(&mut place.open(), &ask("op_2"), &world);
    assert!(
        matches!(waited, Err(LedgerError::InFlight { .. })),
        "{waited:?}"
    );
    drop(owner);
    assert_eq!(again(&place, &ask("op_3"), &world), Ok(Why::TakenOver));
}

#[test]
fn a_once_only_request_whose_owner_died_in_the_middle_is_nobodys() {
    let place = Place::new();
    let world = Around::default();
    let mut owner = place.open();
    let first = once("op_1");
    let begun = running(begin(&mut owner, &first, &world));
    owner.dispatch(&first, &begun).unwrap();
    drop(owner);
    for operation in ["op_2", "op_3"] {
        let asked = begin(&mut place.open(), &once(operation), &world);
        let told = matches!(&asked, Err(LedgerError::Unknown { operation }) if operation == "op_1");
        assert!(told, "{asked:?}");
    }
    let claims = read::<_, StoreError>(&mut *place.open().store, |tx| tx.claims()).unwrap();
    assert_eq!(claims[0].state, ClaimState::Unknown);
}

#[test]
fn whoever_was_taken_over_is_late_and_loses_nothing() {
    let place = Place::new();
    let world = Around::default();
    let first = ask("op_1");
    let mut slow = place.open();
    let begun = running(begin(&mut slow, &first, &world));
    // Its connection is gone, and it does not know.
    slow.store = Box::new(place.memory.open());
    assert_eq!(again(&place, &ask("op_2"), &world), Ok(Why::TakenOver));
    assert!(slow.finish(&first, begun, &ended()).head.is_some());
    assert_eq!(place.rows()[0].state, Some(RowState::Late));
}

#[test]
fn a_call_that_may_have_happened_stays_unknown_after_its_failure() {
    let place = Place::new();
    let end = Ended {
        state: RowState::Unknown,
        ..failed()
    };
    done(&place, &once("op_1"), &end);
    let asked = begin(&mut place.open(), &once("op_2"), &Around::default());
    assert!(
        matches!(asked, Err(LedgerError::Unknown { .. })),
        "{asked:?}"
    );
}

#[test]
fn what_could_not_be_recorded_waits_in_the_outbox_and_is_taken_in_once() {
    let place = Place::new();
    let first = once("op_1");
    let mut owner = place.open();
    let begun = running(begin(&mut owner, &first, &Around::default()));
    place.memory.break_down();
    let recorded = owner.finish(&first, begun, &ended());
    assert!(
        recorded.head.is_none() && recorded.notes[0].contains("outbox"),
        "{recorded:?}"
    );
    place.memory.mend();
    drop(owner);
    assert_eq!(
        again(&place, &once("op_2"), &Around::default()),
        Err(Again::Suppressed)
    );
    assert_eq!(place.rows().len(), 2);
    let outbox = place.dir.path().join("outbox");
    assert_eq!(outbox.read_dir().unwrap().count(), 0);
}

#[test]
fn a_run_is_asked_whether_it_may_go_on_while_it_waits() {
    let place = Place::new();
    let mut owner = place.open();
    running(begin(&mut owner, &ask("op_1"), &Around::default()));
    let asked = RefCell::new(0);
    let stopped = place.open().begin(&ask("op_2"), &Around::default(), &|| {
        *asked.borrow_mut() += 1;
        if *asked.borrow() < 3 {
            return Ok(());
        }
        Err(crate::task::Failure::new(Fault::Cancelled, "cancelled"))
    });
    assert!(
        matches!(stopped, Err(LedgerError::Stopped(_))),
        "{stopped:?}"
    );
}
