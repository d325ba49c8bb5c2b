//! Random sequences of what up to four runs and a person do, performed on a ledger and compared with a reference in
//! memory. The reference is written from docs/ledger.md. A sequence that differs is shortened, and printed.
//!
//! `ONEACT_MODEL=20000 cargo test --lib ledger::tests::model` performs 20,000 other sequences on SQLite and a quarter of
//! them on PostgreSQL. `ONEACT_MODEL=20000,7` performs those of the seed 7.

mod reference;
mod requests;
mod stage;

use std::{fmt, sync::OnceLock};

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

use camino::Utf8Path;

use super::*;
use crate::ledger::{Place as Where, store::tests::Cluster};
use stage::Stage;

/// A request, with the entry that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `read_only`, with a declared `ttl` of an hour.
    Look,
    /// `idempotent`, makes an asset of an input asset.
    Make,
    /// `idempotent` and `destructive`.
    Put,
    /// Must not happen twice.
    Send,
    /// Must not happen twice in one delivery.
    Post,
    /// Must not happen twice, and needs an approval.
    Pay,
}

/// What names the delivery. Task `a` counts its attempts, and task `b` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name {
    Nameless,
    Attempt(u32),
    Uncounted,
    /// A key, and the first attempt at task `a`.
    Key,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Call {
    session: &'static str,
    kind: Kind,
    name: Name,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Done,
    /// With the effect `done` or `none`.
    Failed {
        recoverable: bool,
        effect: Effect,
    },
    /// Nobody knows whether it happened.
    Unclear,
    Cancelled,
}

/// One step of a sequence. The numbers choose among the runs, answers or requests that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Begin(Call),
    /// A run marks its request as sent.
    Send(usize),
    Finish(usize, End),
    Die(usize),
    /// A run loses its connection, and with it its lock, and goes on.
    Lose(usize),
    Resolve(usize, Settled),
    Revoke(usize, Dependants),
    Approve(usize),
    Deny(usize),
    Prune,
    /// Minutes pass.
    Pass(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Settled {
    Happened,
    DidNot,
}

/// What a rule for duplicates says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Reuse,
    Suppress,
    Repeat,
}

const KINDS: [Kind; 6] = [
    Kind::Look,
    Kind::Make,
    Kind::Put,
    Kind::Send,
    Kind::Post,
    Kind::Pay,
];

const NAMES: [Name; 5] = [
    Name::Nameless,
    Name::Attempt(1),
    Name::Attempt(2),
    Name::Uncounted,
    Name::Key,
];

const TTL_OF_LOOK: Duration = Duration::from_hours(1);

/// The most runs at once.
const RUNS: usize = 4;

impl Kind {
    const fn effects(self) -> Effects {
        match self {
            Self::Look => Effects::None,
            Self::Make | Self::Put => Effects::Idempotent,
            Self::Send | Self::Post | Self::Pay => Effects::Once,
        }
    }

    const fn mode(self) -> Mode {
        match self {
            Self::Look | Self::Make => Mode::Reuse,
            Self::Put | Self::Post => Mode::Repeat,
            Self::Send | Self::Pay => Mode::Suppress,
        }
    }

    /// Whether it is an operation with effects.
    const fn changes(self) -> bool {
        !matches!(self, Self::Look | Self::Make)
    }

    /// Whether its entry has a `fence`. All requests of the entry are the same action.
    const fn is_fenced(self) -> bool {
        matches!(self, Self::Send | Self::Post)
    }

    fn is_once(self) -> bool {
        self.effects() == Effects::Once
    }
}

impl Name {
    const fn task(self) -> Option<&'static str> {
        match self {
            Self::Nameless => None,
            Self::Attempt(_) | Self::Key => Some("a"),
            Self::Uncounted => Some("b"),
        }
    }
}

impl Call {
    fn is_same_request(self, other: Self) -> bool {
        (self.session, self.kind) == (other.session, other.kind)
    }

    fn is_same_action(self, other: Self) -> bool {
        self.kind.is_fenced() && self.kind == other.kind
    }

    fn is_same_delivery(self, other: Self) -> bool {
        self.name != Name::Nameless && (self.session, self.name) == (other.session, other.name)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            session,
            kind,
            name,
        } = self;
        write!(f, "{kind:?} ({name:?}, in {session})")
    }
}

fn op() -> impl Strategy<Value = Op> {
    // Most sequences have two or three requests, and one session.
    let call = (
        prop_oneof![5 => Just("s"), 1 => Just("t")],
        0..KINDS.len(),
        proptest::sample::select(&NAMES),
    );
    let call = call.prop_map(|(session, kind, name)| Call {
        session,
        kind: KINDS[kind],
        name,
    });
    let failed = (
        any::<bool>(),
        prop_oneof![Just(Effect::None), Just(Effect::Done)],
    );
    let failed = failed.prop_map(|(recoverable, effect)| End::Failed {
        recoverable,
        effect,
    });
    let end = prop_oneof![
        5 => Just(End::Done),
        2 => failed,
        2 => Just(End::Unclear),
        1 => Just(End::Cancelled),
    ];
    let run = 0..RUNS;
    let any_of = 0..12_usize;
    let settled = prop_oneof![Just(Settled::Happened), Just(Settled::DidNot)];
    let dependants = prop_oneof![3 => Just(Dependants::Listed), 1 => Just(Dependants::Revoked)];
    prop_oneof![
        12 => call.prop_map(Op::Begin),
        9 => run.clone().prop_map(Op::Send),
        7 => (run.clone(), end).prop_map(|(run, end)| Op::Finish(run, end)),
        3 => run.clone().prop_map(Op::Die),
        1 => run.prop_map(Op::Lose),
        3 => (any_of.clone(), settled).prop_map(|(run, settled)| Op::Resolve(run, settled)),
        2 => (any_of.clone(), dependants).prop_map(|(answer, all)| Op::Revoke(answer, all)),
        3 => any_of.clone().prop_map(Op::Approve),
        1 => any_of.prop_map(Op::Deny),
        1 => Just(Op::Prune),
        2 => prop_oneof![Just(10), Just(40), Just(25 * 60)].prop_map(Op::Pass),
    ]
}

/// A sequence in which each `kind` of a call is one of up to three.
fn sequence() -> impl Strategy<Value = Vec<Op>> {
    let kinds = proptest::sample::subsequence(&KINDS, 1..=3);
    (kinds, vec(op(), 1..28)).prop_map(|(kinds, mut ops)| {
        for op in &mut ops {
            if let Op::Begin(call) = op {
                let at = KINDS.iter().position(|kind| *kind == call.kind);
                call.kind = kinds[at.unwrap_or(0) % kinds.len()];
            }
        }
        ops
    })
}

/// At the end, all runs die, and each call comes once more: what was told must be told again.
fn with_end(mut ops: Vec<Op>) -> Vec<Op> {
    let mut calls: Vec<Call> = Vec::new();
    for op in &ops {
        if let Op::Begin(call) = op
            && !calls.contains(call)
        {
            calls.push(*call);
        }
    }
    ops.extend([Op::Die(0); RUNS]);
    for call in calls {
        ops.extend([Op::Begin(call), Op::Die(0)]);
    }
    ops
}

/// The number of sequences, and their seed, if the tester chooses them.
#[expect(
    clippy::disallowed_methods,
    reason = "the tester chooses, not the program"
)]
fn chosen() -> Option<(u32, u64)> {
    let wish = std::env::var("ONEACT_MODEL").ok()?;
    let (count, seed) = match wish.split_once(',') {
        Some((count, seed)) => (count, seed.parse().unwrap()),
        None => (wish.as_str(), fastrand::u64(..)),
    };
    Some((count.parse().unwrap(), seed))
}

/// Performs sequences, each on a ledger that `fresh` makes: the usual ones, or a share of what the tester chooses.
fn check(usual: u32, share: u32, fresh: impl Fn(&Utf8Path) -> Where) {
    let chosen = chosen();
    let (cases, seed) = chosen.map_or((usual, 1), |(count, seed)| (count / share, seed));
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let told = TestRunner::new_with_rng(config, rng).run(&sequence(), |ops| {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        let played = Stage::play(&with_end(ops), &fresh(dir), dir);
        played.map_err(TestCaseError::fail)
    });
    match told {
        Ok(()) => {}
        Err(TestError::Fail(why, _)) => panic!("seed {seed}:\n{why}"),
        Err(TestError::Abort(why)) => panic!("seed {seed}: {why}"),
    }
}

#[test]
fn random_sequences_on_sqlite_are_as_the_reference_says() {
    check(100, 1, |dir| Where::File(dir.join("ledger.db")));
}

#[test]
fn random_sequences_on_postgres_are_as_the_reference_says() {
    static DATABASE: OnceLock<String> = OnceLock::new();
    let name = DATABASE.get_or_init(|| Cluster::shared().database());
    let uri = Cluster::shared().uri(name);
    Where::Postgres(uri.clone())
        .store(crate::ledger::Wish::Write)
        .unwrap();
    check(20, 4, |_| {
        let cut = "SET session_replication_role = replica; \
            TRUNCATE agent_actions, ledger_events, oneact_claims, oneact_sessions, oneact_keys, oneact_approvals, \
            oneact_votes, oneact_grants, oneact_reviews";
        Cluster::shared().sql(name, cut);
        Where::Postgres(uri.clone())
    });
}
