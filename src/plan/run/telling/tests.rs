//! How the end of a plan becomes the state of its run (C-11).

use super::*;
use crate::plan::{record::Undo, refused};

/// A plan that failed so.
fn story(fault: Fault, changed: Option<Rollback>) -> Story {
    let now = At::from(jiff::Timestamp::UNIX_EPOCH);
    let run = Run {
        plan_id: "p".to_owned(),
        task_id: "t".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        directory: RelPath::parse("d").unwrap(),
        began: now.clone(),
        actions: Vec::new(),
    };
    let undo = Undo {
        id: uuid::Uuid::nil(),
        created: now.clone(),
        expires: None,
        changes: Vec::new(),
    };
    let failure = Failure::new(fault, "why");
    let mut story = Story::begun(run, Jail::Enforced);
    story.undo = changed.is_some().then_some(undo);
    story.end.rollback = changed.unwrap_or(Rollback::NotDone);
    story.end.troubles = vec![Trouble { at: now, failure }];
    story
}

#[test]
fn a_plans_end_is_a_runs_state_c_11() {
    let now = || At::from(jiff::Timestamp::UNIX_EPOCH);
    let left = Vec::new;
    let done = || Rollback::Done {
        at: now(),
        left: left(),
    };
    let stuck = || Rollback::Stuck {
        at: now(),
        left: left(),
    };
    for (fault, changed, wanted) in [
        (Fault::FileNotFound, Some(Rollback::NotDone), State::Partial),
        (Fault::DiskFull, None, State::Failed),
        (Fault::FileNotFound, None, State::Rejected),
        (Fault::HashMismatch, Some(done()), State::RolledBack),
        (Fault::FileNotFound, Some(done()), State::RolledBack),
        (Fault::Cancelled, Some(done()), State::Cancelled),
        (Fault::Cancelled, None, State::Cancelled),
        (Fault::Stuck, Some(stuck()), State::Failed),
    ] {
        let story = story(fault, changed);
        let failure = &story.end.troubles[0].failure;
        assert_eq!(state(&story, Some(failure)), wanted, "{fault:?}");
    }
    let story = story(Fault::Internal, Some(Rollback::NotDone));
    assert_eq!(state(&story, None), State::Done);
}

#[test]
fn a_refused_request_is_rejected_unless_sending_it_again_may_help() {
    let refused = |fault| refused(Failure::new(fault, "why")).state;
    assert_eq!(refused(Fault::PlanInvalid), State::Rejected);
    assert_eq!(refused(Fault::InFlight), State::Failed);
    let passing = Failure {
        recoverable: true,
        ..Failure::new(Fault::PlanInvalid, "why")
    };
    assert_eq!(refusal(&passing), State::Failed);
}
