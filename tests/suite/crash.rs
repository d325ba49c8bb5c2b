//! File plans that are killed, refused by the disk, or lose their power: the tree is as before or as asked, never between.
//! All of it comes from outside: the tracer stops the run at its calls. `ONEACT_CRASH=all` goes to every point instead of
//! every so many.

mod diffs;
pub(crate) mod disks;
pub(crate) mod lab;
mod left;
mod places;
mod power;
mod shown;
mod sweeps;
mod systems;

use std::process::Command;

use serde_json::{Value, json};

pub(crate) use disks::say;
use lab::{Either, Fault, Lab, Which, approved, create, everything, memory, oneact, replace};
use sweeps::Sweep;

use crate::tracer::{Act, Call, is_refused, nth};

fn plan_of_everything(lab: &Lab) -> (Command, Value) {
    (oneact(&lab.root), everything())
}

fn with_everything() -> Lab {
    Lab::new(memory())
}

#[test]
fn killed_at_any_call_a_plan_is_all_or_nothing_after_the_next_start() {
    if is_refused() {
        return;
    }
    let sweep = Sweep::new("a plan of files", with_everything, plan_of_everything);
    assert!(sweep.killed(2).points > 30);
}

#[test]
fn whatever_call_fails_a_plan_is_all_or_nothing_or_says_that_it_is_stuck() {
    if is_refused() {
        return;
    }
    let sweep = Sweep::new("a plan of files", with_everything, plan_of_everything);
    sweep.failing(1);
}

/// As many files as a plan may change.
const MANY: usize = 100;

fn many() -> Lab {
    let lab = Lab::empty(memory());
    for file in 0..MANY {
        lab.write(&format!("d{}/f{file}.txt", file % 7), "one\n");
    }
    lab
}

fn plan_of_many(lab: &Lab) -> (Command, Value) {
    let edit = |file: usize| {
        let id = format!("a{file:03}");
        if file.is_multiple_of(5) {
            create(&id, &format!("new{}/n{file}.txt", file % 3), "new\n")
        } else {
            replace(&id, &format!("d{}/f{file}.txt", file % 7), "one", "eins")
        }
    };
    let actions: Vec<Value> = (0..MANY).map(edit).collect();
    (oneact(&lab.root), approved(&json!(actions)))
}

#[test]
fn a_large_plan_is_all_or_nothing_wherever_it_is_killed_or_refused() {
    if is_refused() {
        return;
    }
    let sweep = Sweep::new("a plan of 100 files", many, plan_of_many);
    sweep.killed(43);
    sweep.failing(43);
}

/// A tree with the plan carried out.
fn applied() -> Lab {
    let lab = Lab::new(memory());
    lab.run(&everything(), Fault::None)
        .succeeded("before the rollback");
    lab
}

/// The report directory of its plan, relative to the root.
fn report(lab: &Lab) -> String {
    let reports = lab.root.join("agent_outputs/reports");
    let mut names = reports.read_dir_utf8().unwrap().map(|entry| {
        let name = entry.unwrap().file_name().to_owned();
        format!("agent_outputs/reports/{name}")
    });
    names.find(|name| !name.ends_with(".unfinished")).unwrap()
}

fn rollback(lab: &Lab) -> (Command, Value) {
    let mut command = oneact(&lab.root);
    command.args(["rollback", "--json", &report(lab)]);
    (command, Value::Null)
}

#[test]
fn a_rollback_is_all_or_nothing_wherever_it_is_killed_or_refused() {
    if is_refused() {
        return;
    }
    let sweep = Sweep::new("a rollback", applied, rollback);
    sweep.killed(3);
    sweep.failing(5);
}

/// What a rollback that was killed leaves can be rolled back.
#[test]
fn a_killed_rollback_can_be_begun_again() {
    if is_refused() {
        return;
    }
    let mut either = Either::of_everything(memory());
    let mut again = 0;
    for at in (1..).step_by(5) {
        let lab = applied();
        let fault = Fault::Kill(at);
        let name = report(&lab);
        if !lab.rollback(&name, fault).killed {
            break;
        }
        let told = fault.to_string();
        if either.is(&lab.settled(&told), &told) == Which::New {
            lab.rollback(&name, Fault::None).succeeded(&told);
            assert_eq!(either.is(&lab.tree(), &told), Which::Old, "{told}");
            again += 1;
        }
    }
    assert!(again > 3, "{again}");
}

/// A plan that was killed in the middle of its changes.
fn half() -> Lab {
    let lab = Lab::new(memory());
    let before = lab.tree();
    let end = lab::run_deciding(
        &oneact(&lab.root),
        &lab.root,
        &everything(),
        nth(Call::changes_tree, 5, Act::Kill),
    );
    assert!(end.killed && lab.tree() != before, "{end:?}");
    lab
}

fn recover(lab: &Lab) -> (Command, Value) {
    let mut command = oneact(&lab.root);
    command.args(["recover", "--json"]);
    (command, Value::Null)
}

/// A recovery that was killed in the middle of its changes.
fn half_recovered() -> Lab {
    let lab = half();
    let (command, task) = recover(&lab);
    let end = lab::run_deciding(
        &command,
        &lab.root,
        &task,
        nth(Call::changes_tree, 2, Act::Kill),
    );
    assert!(end.killed, "{end:?}");
    lab
}

/// The plan was not finished: recovery makes the old tree, from one between the two.
fn recovery(what: &'static str, made: fn() -> Lab) -> Sweep {
    let old = with_everything().tree();
    let sweep = Sweep::of_recovery(what, made, recover);
    assert_eq!(sweep.new, old, "{what}");
    sweep
}

#[test]
fn a_recovery_that_is_killed_or_refused_is_repeated_by_the_next_start() {
    if is_refused() {
        return;
    }
    let sweep = recovery("a recovery", half);
    sweep.always_new(2);
}

#[test]
fn so_is_one_after_a_recovery_that_was_killed() {
    if is_refused() {
        return;
    }
    let sweep = recovery("a recovery after one that was killed", half_recovered);
    sweep.always_new(5);
}
