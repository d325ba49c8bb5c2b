//! How many requests a ledger records in a second, with 16 connections in one process, or as many as
//! `ONEACT_LOAD_CONNECTIONS` says. `scripts/bench` runs it.

use std::{
    io::{self, Write as _},
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use super::*;
use crate::ledger::store::{PostgresStore, Store, Wish};

const TIME: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "a test is given the server")]
fn given(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The number of requests that each connection begins and ends, each with a session of its own.
fn recorded(
    place: &Place,
    open: impl Fn() -> Box<dyn Store> + Sync,
    effects: Effects,
) -> Vec<usize> {
    let dir = place.file.dir();
    drop(open());
    let connections = given("ONEACT_LOAD_CONNECTIONS").map_or(16, |given| given.parse().unwrap());
    let all_are_open = Barrier::new(connections);
    thread::scope(|scope| {
        let one = |number: usize| {
            let (open, all_are_open) = (&open, &all_are_open);
            scope.spawn(move || {
                let host = host();
                let at = super::super::Place::default_in(dir);
                let mut ledger = Ledger::of(open(), &at, dir, &host);
                let session = format!("{effects:?}{number}");
                all_are_open.wait();
                let until = Instant::now() + TIME;
                let all = (0..).take_while(|_| Instant::now() < until);
                all.filter(|count| is_recorded(&mut ledger, &session, *count, effects))
                    .count()
            })
        };
        let all: Vec<_> = (0..connections).map(one).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Begins a new request and ends it. False if somebody else had the ledger for too long.
fn is_recorded(ledger: &mut Ledger<'_>, session: &str, count: u64, effects: Effects) -> bool {
    let operation = format!("{session}-{count}");
    let mut ask = ask("op");
    ask.who.operation_id = &operation;
    ask.who.session_id = session;
    ask.who.task_id = Some(&operation);
    ask.asked.outputs = vec![operation.clone()];
    ask.effects = effects;
    ask.strictest = effects;
    let Ok(Reply::Run(running)) = begin(ledger, &ask, &Around::default()) else {
        return false;
    };
    if effects != Effects::None && ledger.dispatch(&ask, &running, None).is_err() {
        ledger.let_go(running);
        return false;
    }
    ledger.finish(&ask, running, ended()).head.is_some()
}

#[test]
#[ignore = "it measures: scripts/bench"]
fn requests_a_second() {
    for effects in [Effects::None, Effects::Once] {
        let place = Place::new();
        let mut tables = vec![(
            "sqlite",
            recorded(&place, || Box::new(place.file.store()), effects),
        )];
        if let Some(uri) = given("ONEACT_LOAD_POSTGRES") {
            let open =
                || -> Box<dyn Store> { Box::new(PostgresStore::open(&uri, Wish::Write).unwrap()) };
            tables.push(("postgres", recorded(&Place::new(), open, effects)));
        }
        for (name, counts) in tables {
            let sum: usize = counts.iter().sum();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            let rate = u64::try_from(sum).unwrap() / TIME.as_secs();
            writeln!(
                io::stdout(),
                "{name} {effects:?}: {rate} a second, {least} to {most} of one connection"
            )
            .unwrap();
        }
    }
}
