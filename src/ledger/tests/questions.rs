//! Whether the old answer is still good, and each reason why it is not.

use super::*;

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
            now.on_duplicate = reuse(Some(Duration::from_hours(1)), Ground::Declared);
            world.now = "2026-02-24T03:00:00Z".parse().unwrap();
        }
        Miss::InputChanged => world.still = still("in.mp4", Still::Other),
        Miss::InputChangedDuringRun => first.inputs[0].changed_meanwhile = true,
        Miss::InputUnknown => world.still = still("in.mp4", Still::Unknown),
        Miss::OutputMissing => world.still = still("out.wav", Still::Gone),
        Miss::OutputChanged => world.still = still("out.wav", Still::Other),
        Miss::OutputExpiring => world.expires = Some("2026-02-24T02:04:00Z".parse().unwrap()),
        Miss::StateMayHaveChanged => now.on_duplicate = reuse(None, Ground::Declared),
        Miss::Degraded => {
            was.adjusted = Some("{}".to_owned());
            was.who.attempt = Some(2);
        }
    }
    done(&place, &was, &first);
    match wanted {
        Miss::StateMayHaveChanged => done(&place, &changing("op_change"), &ended()),
        Miss::Revoked => take_back(&place, "op_1"),
        Miss::Pruned => {
            let id = place.rows().remove(0).id;
            place.open().remove(&[id]).unwrap();
        }
        Miss::LedgerDamaged => place
            .file
            .change(|row| row.response = Some("{}".to_owned())),
        Miss::OneactChanged => {
            // Judged by other rules: sealed as such, so that only this differs.
            place.reseal(|row| row.oneact_version = "0.0.1+rules.0".to_owned());
        }
        _ => {}
    }
    again(&place, &now, &world)
}

#[test]
fn every_reason_not_to_reuse_is_named() {
    for wanted in MISSES {
        assert_eq!(
            miss(wanted),
            Ok(Why::Miss(wanted)),
            "{}",
            Why::Miss(wanted).name()
        );
    }
    assert!(RESULT_RULES.starts_with("rules."));
}

#[test]
fn the_schema_lists_the_reasons() {
    // The error of an unknown word names every word, each between two backticks.
    let error = serde_json::from_value::<Miss>(json!("?")).unwrap_err();
    let error = error.to_string();
    let names: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
    assert_eq!(names, MISSES.map(|miss| Why::Miss(miss).name()));
    let schema = include_str!("../../../schemas/envelope.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let others = [
        "replayed",
        "reused",
        "suppressed",
        "retry",
        "repeat",
        "taken_over",
    ];
    assert_eq!(
        schema["$defs"]["reuse"]["properties"]["why"]["enum"],
        json!([others.as_slice(), &names].concat())
    );
}

/// Another request, which changes something.
fn changing(operation: &'static str) -> Ask<'static> {
    let mut ask = once(operation);
    ask.asked.salt = Some(operation.to_owned());
    ask
}

#[test]
fn declared_reuse_ends_with_anything_that_may_change_what_was_read() {
    let declared = |operation| Ask {
        effects: Effects::None,
        on_duplicate: reuse(Some(Duration::from_hours(1)), Ground::Declared),
        ..ask(operation)
    };
    let again = |place: &Place, operation| again(place, &declared(operation), &Around::default());
    let changed = Ok(Why::Miss(Miss::StateMayHaveChanged));
    let place = Place::new();
    done(&place, &declared("op_1"), &ended());
    assert_eq!(again(&place, "op_2"), Err(Again::Reused));
    // What makes an asset of its own changes nothing that others read.
    let maker = Ask {
        asked: changing("op_3").asked,
        ..ask("op_3")
    };
    done(&place, &maker, &ended());
    assert_eq!(again(&place, "op_4"), Err(Again::Reused));
    // What failed may have changed something.
    done(&place, &changing("op_5"), &failed());
    assert_eq!(again(&place, "op_6"), changed);

    // One that was under way when the answer was made, and ended after it.
    let place = Place::new();
    let mut writer = place.open();
    let begun = running(begin(&mut writer, &changing("op_1"), &Around::default()));
    writer.dispatch(&changing("op_1"), &begun, None).unwrap();
    done(&place, &declared("op_2"), &ended());
    writer.finish(&changing("op_1"), begun, ended());
    assert_eq!(again(&place, "op_3"), changed);

    // One that began while the answer was made, and never ended.
    let place = Place::new();
    let mut reader = place.open();
    let read = running(begin(&mut reader, &declared("op_1"), &Around::default()));
    let mut writer = place.open();
    let begun = running(begin(&mut writer, &changing("op_2"), &Around::default()));
    writer.dispatch(&changing("op_2"), &begun, None).unwrap();
    drop(writer);
    reader.finish(&declared("op_1"), read, ended());
    assert_eq!(again(&place, "op_3"), changed);

    // A delivery that is answered again looks at nothing: it hides no change.
    let place = Place::new();
    done(&place, &declared("op_1"), &ended());
    done(&place, &changing("op_2"), &ended());
    assert_eq!(again(&place, "op_1"), Err(Again::Replayed));
    assert_eq!(again(&place, "op_3"), changed);

    // Of another session nothing is known.
    let place = Place::new();
    done(&place, &declared("op_1"), &ended());
    let mut elsewhere = changing("op_2");
    elsewhere.who.session_id = "other";
    done(&place, &elsewhere, &ended());
    assert_eq!(again(&place, "op_3"), Err(Again::Reused));
}

#[test]
fn the_same_content_has_the_same_answer_whatever_else_was_changed_and_only_what_is_known_is_the_same()
 {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    done(&place, &changing("op_2"), &ended());
    assert_eq!(
        again(&place, &ask("op_3"), &Around::default()),
        Err(Again::Reused)
    );
    let unknown = Around {
        still: HashMap::from([("in.mp4", Still::Unknown)]),
        ..Around::default()
    };
    for (operation, ground) in [("op_4", Ground::Content), ("op_5", Ground::Both)] {
        let place = Place::new();
        done(&place, &ask("op_1"), &ended());
        let within = Ask {
            on_duplicate: reuse(Some(Duration::from_hours(1)), ground),
            ..ask(operation)
        };
        assert_eq!(
            again(&place, &within, &unknown),
            Ok(Why::Miss(Miss::InputUnknown))
        );
    }
}

#[test]
fn a_clock_that_jumps_back_makes_no_answer_young() {
    let place = Place::new();
    done(&place, &ask("op_1"), &ended());
    let mut now = ask("op_2");
    now.on_duplicate = reuse(Some(Duration::from_hours(1)), Ground::Declared);
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
    now.on_duplicate = reuse(Some(Duration::from_hours(1)), Ground::Declared);
    let world = Around {
        still: HashMap::from([("in.mp4", Still::Unknown)]),
        ..Around::default()
    };
    assert_eq!(again(&place, &now, &world), Err(Again::Reused));
}
