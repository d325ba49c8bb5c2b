//! A file plan that comes twice: whether its files still have the content that it gave them, and what its journal tells.

use super::{tampering::InFile, *};
use crate::people::{Dependants, Name};

/// A signal can end the run before it has read the files.
#[test]
fn a_plan_whose_files_were_not_recorded_is_not_performed_again() {
    let place = Place::new();
    let plan = |operation| Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
        ..once(operation)
    };
    let mut ended = ended();
    ended.outputs[0].print.sight = Sight::Unknown;
    done(&place, &plan("op_1"), &ended);
    for (operation, still) in [
        ("op_2", Still::Same),
        ("op_3", Still::Other),
        ("op_4", Still::Gone),
        ("op_5", Still::Unknown),
    ] {
        let world = Around {
            still: HashMap::from([("out.wav", still)]),
            ..Around::default()
        };
        let begun = again(&place, &plan(operation), &world);
        assert_eq!(begun, Err(Again::Suppressed), "{still:?}");
    }
}

fn plan(operation: &'static str, task: &'static str) -> Ask<'static> {
    let mut ask = Ask {
        on_duplicate: OnDuplicate::Suppress(Unless::FilesChanged),
        ..once(operation)
    };
    ask.who.task_id = Some(task);
    ask
}

/// Who sends a delivery again does not know what became of the files.
#[test]
fn a_plan_that_was_undone_is_performed_again_for_another_delivery_only() {
    let place = Place::new();
    let undone = Around {
        still: HashMap::from([("out.wav", Still::Other)]),
        ..Around::default()
    };
    done(&place, &plan("op_1", "t1"), &ended());
    assert_eq!(
        again(&place, &plan("op_2", "t1"), &undone),
        Err(Again::Replayed)
    );
    let miss = Why::Miss(Miss::OutputChanged);
    assert_eq!(again(&place, &plan("op_3", "t2"), &undone), Ok(miss));
}

/// Both have read the journal of the run that died. The answer is recorded once, and is that of the first delivery.
#[test]
fn two_runs_that_read_one_journal_record_one_answer() {
    let place = Place::new();
    let mut owner = place.open();
    let first = plan("op_1", "t1");
    let begun = running(begin(&mut owner, &first, &Around::default()));
    owner.dispatch(&first, &begun, None).unwrap();
    drop((begun, owner));
    let takers = [plan("op_2", "t2"), plan("op_3", "t3")].map(|ask| {
        let mut ledger = place.open();
        let refused = begin(&mut ledger, &ask, &Around::default());
        assert!(matches!(refused, Err(LedgerError::Unknown { .. })));
        let left = ledger.left_unknown(&ask, "op_1").unwrap().unwrap();
        (ledger, ask, left)
    });
    let settled =
        takers.map(|(mut ledger, ask, left)| ledger.settle_as_made(&left, &ask, ended()).unwrap());
    assert_eq!(settled, [true, false]);
    let rows = place.rows();
    let answered: Vec<_> = rows.iter().map(|row| row.operation_id.as_str()).collect();
    assert_eq!(answered, ["op_1"]);
    // Neither delivery performs anything again, and the first one does not whatever has become of its files.
    let undone = Around {
        still: HashMap::from([("out.wav", Still::Other)]),
        ..Around::default()
    };
    for (operation, task, around, how) in [
        ("op_4", "t2", &Around::default(), Again::Suppressed),
        ("op_5", "t3", &Around::default(), Again::Suppressed),
        ("op_6", "t1", &Around::default(), Again::Suppressed),
        ("op_7", "t1", &undone, Again::Replayed),
    ] {
        let told = again(&place, &plan(operation, task), around);
        assert_eq!(told, Err(how), "{task}");
    }
}

#[test]
fn a_delivery_that_got_an_old_answer_gets_it_again_unless_it_was_changed() {
    let undone = Around {
        still: HashMap::from([("out.wav", Still::Other)]),
        ..Around::default()
    };
    for (attack, is_refused) in [
        ("", false),
        (
            "UPDATE agent_actions SET response = '{}' WHERE operation_id = 'op_2'",
            true,
        ),
    ] {
        let file = InFile::new();
        let ask = |operation, task| begin(&mut file.open(), &plan(operation, task), &undone);
        let unchanged = Around::default();
        let mut ledger = file.open();
        tampering::record(&mut ledger, &plan("op_1", "t1"), &ended());
        let again = begin(&mut ledger, &plan("op_2", "t2"), &unchanged);
        assert_eq!(said(again), Err(Again::Suppressed));
        drop(ledger);
        file.change(attack);
        match ask("op_3", "t2") {
            Err(LedgerError::Damaged { operation, .. }) if is_refused => {
                assert_eq!(operation, "op_2");
            }
            begun => {
                assert!(!is_refused, "{attack}: {begun:?}");
                assert_eq!(said(begun), Err(Again::Replayed));
            }
        }
        // Another delivery has not got an answer.
        let miss = Why::Miss(Miss::OutputChanged);
        assert_eq!(said(ask("op_4", "t4")), Ok(miss), "{attack}");
    }
}

/// An answer that was withdrawn is performed again, also for a delivery that got it twice.
#[test]
fn a_delivery_whose_old_answer_was_withdrawn_performs_the_plan_again() {
    let place = Place::new();
    done(&place, &plan("op_1", "t1"), &ended());
    for (operation, how) in [("op_2", Again::Suppressed), ("op_3", Again::Replayed)] {
        let told = again(&place, &plan(operation, "t2"), &Around::default());
        assert_eq!(told, Err(how));
    }
    let name = Name {
        text: "op_1",
        session: None,
        alone: Alone::Refused,
    };
    let mut ledger = place.open();
    ledger.revoke(name, Dependants::Revoked, None).unwrap();
    let told = again(&place, &plan("op_4", "t2"), &Around::default());
    assert!(told.is_ok(), "{told:?}");
}

/// The answers that were recorded for them do not name their deliveries.
#[test]
fn a_delivery_is_found_behind_the_answers_of_many_runs_that_died() {
    let place = Place::new();
    let undone = Around {
        still: HashMap::from([("out.wav", Still::Other)]),
        ..Around::default()
    };
    done(&place, &plan("op_1", "t1"), &ended());
    for (n, request) in ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9"]
        .into_iter()
        .enumerate()
    {
        let asked = |operation: String, task, request_id| {
            let mut ask = plan(operation.leak(), task);
            ask.asked.salt = Some(request.to_owned());
            ask.who.request_id = request_id;
            ask
        };
        let dead = asked(format!("op_dead_{n}"), "t1", Some(request));
        let mut owner = place.open();
        let begun = running(begin(&mut owner, &dead, &undone));
        owner.dispatch(&dead, &begun, None).unwrap();
        drop((begun, owner));
        let next = asked(format!("op_next_{n}"), "t2", None);
        let mut ledger = place.open();
        let refused = begin(&mut ledger, &next, &undone);
        assert!(
            matches!(refused, Err(LedgerError::Unknown { .. })),
            "{refused:?}"
        );
        let left = ledger
            .left_unknown(&next, dead.who.operation_id)
            .unwrap()
            .unwrap();
        assert!(ledger.settle_as_made(&left, &next, ended()).unwrap());
    }
    assert_eq!(
        again(&place, &plan("op_2", "t1"), &undone),
        Err(Again::Replayed)
    );
}
