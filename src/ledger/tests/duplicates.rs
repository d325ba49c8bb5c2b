//! What comes twice: what must not happen again, a delivery, an attempt.

use super::*;

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
