//! A tool that is pinned is the one that was looked at, or nothing is called.

use crate::task::{Differs, Pin, Pinned};

use super::*;

/// The tool `echo`, as the server lists it.
fn now() -> Pin {
    let schema =
        json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}});
    Pin::of("echo", Some(&schema), None, None)
}

fn pinned(pin: Pin, on_drift: OnDrift) -> Stage {
    let mut stage = Stage::new("echo");
    stage.call.pinned = Some(Pinned { pin, on_drift });
    stage
}

#[test]
fn a_tool_that_is_as_pinned_is_called_after_a_look_at_it() {
    let stage = pinned(now(), OnDrift::Fail);
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(end.course.drift, None);
    assert!(stage.methods().contains(&"tools/list".to_owned()));
}

#[test]
fn a_tool_that_has_changed_is_not_called() {
    let old = Pin::of("echo", Some(&json!({"type": "object"})), None, None);
    let stage = pinned(old.clone(), OnDrift::Fail);
    let end = stage.run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::ValidateArguments)
    );
    let error = end.result.unwrap_err();
    let CallError::ToolChanged { drift, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(drift.differs, Differs::Input);
    for word in [
        old.to_string(),
        now().to_string(),
        "its input schema differs".to_owned(),
    ] {
        assert!(error.to_string().contains(&word), "{error}");
    }
    assert!(!stage.methods().contains(&"tools/call".to_owned()));
}

#[test]
fn or_it_is_called_and_the_change_told_if_the_entry_will_have_it_so() {
    let old = Pin::of("echo", Some(&json!({})), Some(&json!({})), None);
    let end = pinned(old, OnDrift::Warn).run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(end.course.drift.unwrap().differs, Differs::Both);
}

#[test]
fn a_pinned_tool_that_is_gone_is_told_as_such() {
    for (on_drift, gone) in [(OnDrift::Fail, true), (OnDrift::Warn, false)] {
        let mut stage = pinned(now(), on_drift);
        stage.call.tool = "ecko".to_owned();
        let end = stage.run();
        assert_eq!(end.effect, Effect::None);
        match end.result.unwrap_err() {
            CallError::ToolChanged { drift, .. } if gone => {
                assert_eq!(drift.differs, Differs::Gone);
            }
            CallError::UnknownTool { .. } if !gone => {}
            other => panic!("{other}"),
        }
    }
}

#[test]
fn that_it_is_gone_is_told_of_a_remembered_server_too() {
    let mut stage = Stage::new("modern").speaking(Protocol::Auto);
    stage.server.memory = Some(stage.folder.join("servers"));
    assert!(stage.run().result.is_ok());
    stage.call.tool = "ecko".to_owned();
    let pin = now();
    stage.call.pinned = Some(Pinned {
        pin,
        on_drift: OnDrift::Fail,
    });
    let end = stage.run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::ValidateArguments)
    );
    assert!(
        matches!(&end.result, Err(CallError::ToolChanged { drift, .. }) if drift.differs == Differs::Gone),
        "{:?}",
        end.result
    );
}

#[test]
fn a_pin_is_looked_at_before_the_arguments() {
    let old = Pin::of("echo", None, None, None);
    let mut stage = pinned(old, OnDrift::Fail).checked();
    stage.call.arguments = object(json!({"text": 7}));
    assert!(matches!(
        stage.run().result,
        Err(CallError::ToolChanged { .. })
    ));
}
