//! What the ledger promises, over one in SQLite: what its tests have in common.

mod approvals;
mod believed;
mod beside;
mod claims;
mod cut;
mod decisions;
mod duplicates;
mod fences;
mod grants;
mod knots;
mod load;
mod model;
mod opened;
mod plans;
mod pruning;
mod questions;
mod reviews;
mod shared;
mod steps;
mod tampering;
mod vouched;

use std::{cell::RefCell, collections::HashMap, time::Duration};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    Ledger,
    record::Which,
    record::{ClaimState, Effects, Made, Row, RowOutcome, RowState, SeenInput},
    request::{Asked, AskedStep, Signatures},
    store::{StoreError, Tx, read, tests::InFile},
    validity::{RESULT_RULES, World},
    words::{Again, Ask, Ended, LedgerError, Miss, Reply, Running, Who, Why},
};
use crate::{
    host::{Host, Interrupts},
    ledger::{Bound, StateChange, Told},
    people::{Alone, Dependants, Name},
    task::{
        Content, Effect, Fault, Ground, Links, OnDuplicate, Print, Reuse, Sight, Still, Unless,
    },
};

pub(crate) const NOW: &str = "2026-02-24T02:00:00Z";

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
    fn still(&self, uri: &str, _: &Print, _: Links) -> Still {
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
    file: InFile,
    host: Host,
}

impl Place {
    fn new() -> Self {
        Self {
            file: InFile::new(),
            host: host(),
        }
    }

    fn open(&self) -> Ledger<'_> {
        let dir = self.file.dir();
        let store = Box::new(self.file.store());
        Ledger::of(store, &super::Place::default_in(dir), dir, &self.host)
    }

    /// Changes the newest row, and its link as if it had always been so.
    fn reseal(&self, change: impl FnOnce(&mut Row)) {
        self.file.reseal(change);
        std::fs::remove_file(self.file.dir().join("ledger.head")).unwrap();
    }

    fn rows(&self) -> Vec<Row> {
        let mut ledger = self.open();
        let rows =
            read::<_, StoreError>(&mut *ledger.store, |tx| tx.rows(&Which::session("s"), 99));
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
            attempt: Some(1),
            part: None,
            bound: Bound::Task,
            joins: None,
        },
        asked: Asked {
            steps: vec![AskedStep {
                entry: "CAP-PRE-002".to_owned(),
                version: None,
                shown: None,
                parameters,
                volatile: Vec::new(),
                signatures: Signatures::LeftOut,
                answers: None,
            }],
            outputs: vec!["derived_1".to_owned()],
            salt: None,
            fence: None,
        },
        request: "{}".to_owned(),
        target: None,
        confidence: None,
        entry_digest: "digest".to_owned(),
        tool_pin: None,
        adjusted: None,
        effects: Effects::Idempotent,
        strictest: Effects::Idempotent,
        parts: 0,
        on_duplicate: reuse(None, Ground::Content),
        change: StateChange::Nothing,
        reuse: Reuse::Allowed,
        under: None,
        review: None,
        home: None,
        // A child that another test starts has the locks of this process until it is executed.
        patience: Duration::from_millis(100),
        timeout: Duration::from_mins(1),
    }
}

const fn reuse(ttl: Option<Duration>, ground: Ground) -> OnDuplicate {
    OnDuplicate::Reuse { ttl, ground }
}

fn once(operation: &'static str) -> Ask<'static> {
    Ask {
        change: StateChange::State,
        effects: Effects::Once,
        strictest: Effects::Once,
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
        approval: None,
        state: RowState::Done,
        outcome: RowOutcome::Success,
        fault: None,
        told: Told {
            effect: Effect::Done,
            recoverable: false,
        },
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

fn begin(ledger: &mut Ledger<'_>, ask: &Ask<'_>, world: &Around) -> Result<Reply, LedgerError> {
    ledger.begin(ask, world, &|| Ok(()))
}

fn running(begun: Result<Reply, LedgerError>) -> Running {
    match begun.unwrap() {
        Reply::Run(running) => running,
        Reply::Answered(answered) => panic!("answered: {:?}", answered.how),
    }
}

/// Why it is done, or why the old answer is given.
fn said(begun: Result<Reply, LedgerError>) -> Result<Why, Again> {
    match begun.unwrap() {
        Reply::Run(running) => Ok(running.why),
        Reply::Answered(answered) => Err(answered.how),
    }
}

/// Does something, from the question to the record.
fn done(place: &Place, ask: &Ask<'_>, ended: &Ended) {
    let mut ledger = place.open();
    let running = running(begin(&mut ledger, ask, &Around::default()));
    ledger.dispatch(ask, &running, None).unwrap();
    let recorded = ledger.finish(ask, running, ended.clone());
    assert!(recorded.head.is_some(), "{recorded:?}");
}

/// Takes the answer of an operation back.
fn take_back(place: &Place, operation: &str) {
    let name = Name {
        text: operation,
        session: None,
        alone: Alone::Refused,
    };
    let revoked = place.open().revoke(name, Dependants::Listed, None);
    revoked.unwrap();
}

fn again(place: &Place, ask: &Ask<'_>, world: &Around) -> Result<Why, Again> {
    said(begin(&mut place.open(), ask, world))
}

/// Every reason not to reuse an answer, in the order in which they are looked for.
pub(crate) const MISSES: [Miss; 17] = [
    Miss::Disabled,
    Miss::NotSuccessful,
    Miss::Pruned,
    Miss::LedgerDamaged,
    Miss::Revoked,
    Miss::CatalogChanged,
    Miss::ToolChanged,
    Miss::OneactChanged,
    Miss::Expired,
    Miss::InputChanged,
    Miss::InputChangedDuringRun,
    Miss::InputUnknown,
    Miss::OutputMissing,
    Miss::OutputChanged,
    Miss::OutputExpiring,
    Miss::Degraded,
    Miss::StateMayHaveChanged,
];
