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
