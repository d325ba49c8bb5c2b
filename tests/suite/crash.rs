//! File plans that are killed, refused by the disk, or lose their power: the tree is as before or as
//! asked, never between. `ONEACT_CRASH=all` goes to every point instead of every so many.

mod diffs;
pub(crate) mod disks;
mod injected;
pub(crate) mod lab;
mod places;
mod power;
mod shown;
mod systems;

use disks::say;
use lab::{Either, End, Lab, Which, everything, memory};

/// Kills the verb at every call that changes something, until it comes through.
fn killed_at_every_call(
    either: &mut Either,
    made: impl Fn() -> Lab,
    verb: impl Fn(&Lab, &str) -> End,
) -> u64 {
    for at in 1.. {
        let lab = made();
        let faults = format!("kill@{at}");
        let end = verb(&lab, &faults);
        if !end.killed {
            end.succeeded(&faults);
            assert_eq!(either.is(&lab.tree(), &faults), Which::New);
            return at - 1;
        }
        either.is(&lab.settled(&faults), &faults);
    }
    0
}

#[test]
fn killed_at_any_call_a_plan_is_all_or_nothing_after_the_next_start() {
    let mut either = Either::of_everything(memory());
    let points = killed_at_every_call(
        &mut either,
        || Lab::new(memory()),
        |lab, faults| lab.run(&everything(), faults),
    );
    say(&format!(
        "plan killed at {points} calls: {:?}",
        either.found
    ));
    assert!(points > 60 && either.found.old > 30);
}

#[test]
fn the_same_where_each_file_is_waited_for() {
    let mut either = Either::of_everything(memory());
    let points = killed_at_every_call(
        &mut either,
        || Lab::new(memory()),
        |lab, faults| lab.run(&everything(), &format!("each-barrier,{faults}")),
    );
    say(&format!(
        "plan killed at {points} calls: {:?}",
        either.found
    ));
    assert!(points > 60 && either.found.new > 1);
}

#[test]
fn killed_at_any_call_a_rollback_is_all_or_nothing_after_the_next_start() {
    let either = Either::of_everything(memory());
    let mut either = Either {
        old: either.new,
        new: either.old,
        found: either.found,
    };
    let points = killed_at_every_call(&mut either, applied, |lab, faults| {
        lab.rollback(&report(lab), faults)
    });
    say(&format!(
        "rollback killed at {points} calls: {:?}",
        either.found
    ));
    assert!(points > 60 && either.found.old > 30 && either.found.new > 1);
}

/// A tree with the plan carried out.
fn applied() -> Lab {
    let lab = Lab::new(memory());
    lab.run(&everything(), "").succeeded("before the rollback");
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

/// What a rollback that was killed leaves can be rolled back.
#[test]
fn a_killed_rollback_can_be_begun_again() {
    let mut either = Either::of_everything(memory());
    let mut again = 0;
    for at in (1..).step_by(5) {
        let lab = applied();
        let faults = format!("kill@{at}");
        let name = report(&lab);
        if !lab.rollback(&name, &faults).killed {
            break;
        }
        if either.is(&lab.settled(&faults), &faults) == Which::New {
            lab.rollback(&name, "").succeeded(&faults);
            assert_eq!(either.is(&lab.tree(), &faults), Which::Old, "{faults}");
            again += 1;
        }
    }
    assert!(again > 5, "{again}");
}

#[test]
fn selftest_finds_nothing_bad_here_and_leaves_nothing() {
    let lab = Lab::empty(memory());
    let mut command = lab::oneact(&lab.root, "");
    command.args(["selftest", "--json", "--crash", lab.root.as_str()]);
    let end = lab::run(command, &serde_json::Value::Null);
    end.succeeded("selftest");
    let verdict: serde_json::Value = serde_json::from_str(&end.stdout).unwrap();
    assert_eq!(verdict["bad"], serde_json::json!([]));
    let sweeps = verdict["sweeps"].as_array().unwrap();
    assert_eq!(sweeps.len(), 4);
    for sweep in sweeps {
        assert!(sweep["points"].as_u64().unwrap() > 10, "{sweep}");
    }
    say(&format!("selftest: {}", verdict["sweeps"]));
    assert_eq!(lab.root.read_dir_utf8().unwrap().count(), 0);
}
