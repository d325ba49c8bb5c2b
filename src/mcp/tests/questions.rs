//! Servers that ask: in their result (2026-07-28), or while they are called (before).

use super::*;
use crate::mcp::questions;

/// What `misbehaving.py` puts into its `requestState`.
const STATE: &str = "a/\0 \u{2028}é\"\\{\"n\":1e400}\n";

fn asked() -> Stage {
    let mut stage = Stage::new("input_required").speaking(Protocol::Modern);
    stage.server.caller = Caller::Answers;
    stage
}

/// The same call with answers, on a server that was never called before.
fn answered(state: Option<&str>) -> Stage {
    let mut stage = asked();
    let who = json!({"action": "accept", "content": {"n": 123_456_789_012_345_678_u64}});
    stage.call.resumption = Some(Resumption {
        responses: Some([("who".to_owned(), who)].into()),
        state: state.map(str::to_owned),
    });
    stage
}

fn sent(stage: &Stage, method: &str) -> Value {
    let received = stage.received();
    let mut lines = received.into_iter();
    lines.find(|line| line["method"] == method).unwrap()
}

#[test]
fn what_a_server_asks_comes_back_with_its_state_and_the_effect_is_unknown() {
    let end = asked().run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::Unknown, Phase::Call)
    );
    let error = end.result.unwrap_err();
    let CallError::InputRequired { questions, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(questions.state.as_deref(), Some(STATE));
    assert_eq!(
        questions.requests["who"]["params"]["requestedSchema"],
        json!({"type": "object", "properties": {"name": {"type": "string"}}})
    );
    assert!(
        error.to_string().contains("`who`: Your name? Not ***."),
        "{error}"
    );
}

#[test]
fn another_process_takes_the_call_up_with_answers_and_the_very_same_state() {
    let (first, second) = (asked(), answered(Some(STATE)));
    assert!(first.run().result.is_err());
    let end = second.run();
    assert_eq!(end.effect, Effect::Done);
    assert_eq!(
        only_text(&end),
        r#"{"who": {"action": "accept", "content": {"n": 123456789012345678}}}"#
    );
    let (first, second) = (sent(&first, "tools/call"), sent(&second, "tools/call"));
    assert_ne!(first["id"], second["id"]);
    for member in ["name", "arguments"] {
        assert_eq!(first["params"][member], second["params"][member]);
    }
}

#[test]
fn where_there_was_no_state_none_is_sent() {
    let stage = answered(None);
    let error = stage.run().result.unwrap_err();
    assert!(error.to_string().contains("another state"), "{error}");
    let params = sent(&stage, "tools/call")["params"].clone();
    assert!(params.get("requestState").is_none(), "{params}");
    assert!(params.get("inputResponses").is_some(), "{params}");
}

#[test]
fn elicitation_is_declared_to_modern_servers_if_the_caller_can_answer() {
    let declared = |stage: &Stage, method: &str| {
        let meta = sent(stage, method)["params"]["_meta"].clone();
        meta["io.modelcontextprotocol/clientCapabilities"].clone()
    };
    let modes = json!({"elicitation": {"form": {}, "url": {}}});
    let stage = asked();
    stage.run().closing.finish();
    assert_eq!(declared(&stage, "tools/call"), modes);

    let mut stage = Stage::new("modern").speaking(Protocol::Auto).checked();
    stage.server.caller = Caller::Answers;
    stage.run().closing.finish();
    for method in ["server/discover", "tools/list", "tools/call"] {
        assert_eq!(declared(&stage, method), modes, "{method}");
    }
    assert_eq!(
        sent(&stage, "initialize")["params"]["capabilities"],
        json!({})
    );
}

#[test]
fn a_server_of_the_older_era_cannot_be_given_answers() {
    let mut stage = answered(Some(STATE)).speaking(Protocol::Legacy);
    stage.call.check_arguments = ArgumentCheck::AgainstServer;
    let end = stage.run();
    assert_eq!(end.effect, Effect::None);
    let error = end.result.unwrap_err();
    assert!(matches!(error, CallError::NotResumable { .. }), "{error}");
    assert!(error.to_string().contains("MCP 2025-11-25"), "{error}");
    assert!(!stage.methods().contains(&"tools/call".to_owned()));
}

#[test]
fn a_server_that_wants_input_and_asks_nothing_breaks_the_protocol() {
    for result in [
        "{}",
        r#"{"inputRequests": {"a": {"method": "tools/call"}}}"#,
        r#"{"requestState": "with hunter2"}"#,
    ] {
        let stage = Stage::new(&format!("asks_nothing:{result}")).speaking(Protocol::Modern);
        let error = stage.run().result.unwrap_err();
        assert!(matches!(error, CallError::Malformed { .. }), "{error}");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}

#[test]
fn questions_that_are_too_long_are_not_read() {
    let result = format!(r#"{{"requestState": "{}"}}"#, "s".repeat(1 << 20));
    let why = questions::read(&result, &Secrets::default()).unwrap_err();
    assert!(why.contains("its `input_required` has"), "{why}");
}

/// An answer with the question must be readable, and a task can return it.
#[test]
fn a_question_that_is_nested_too_deep_breaks_the_protocol() {
    for (levels, is_read) in [(30, true), (31, false), (120, false)] {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let params = format!(r#"{{"message": {open}{close}}}"#);
        let question = format!(r#"{{"method": "elicitation/create", "params": {params}}}"#);
        let result = format!(r#"{{"inputRequests": {{"who": {question}}}}}"#);
        let read = questions::read(&result, &Secrets::default());
        assert_eq!(read.is_ok(), is_read, "{levels}");
    }
}

#[test]
fn two_questions_or_two_fields_of_one_name_break_the_protocol() {
    let form = r#""method": "elicitation/create", "params": {"requestedSchema": {"properties": "#;
    for requests in [
        format!(r#"{{"who": {{{form}{{}}}}}}}}, "\u0077ho": {{{form}{{}}}}}}}}}}"#),
        format!(r#"{{"who": {{{form}{{"n": {{}}, "n": {{}}}}}}}}}}}}"#),
    ] {
        let result = format!(r#"{{"inputRequests": {requests}}}"#);
        let why = questions::read(&result, &Secrets::default()).unwrap_err();
        assert!(why.contains("two input requests, or two members"), "{why}");
    }
}

#[test]
fn a_capability_that_was_not_declared_is_told_with_what_to_do() {
    let (modern, legacy) = (Protocol::Modern, Protocol::Legacy);
    let elicitation = r#"{"elicitation": {"form": {}}}"#;
    let both = r#"{"sampling": {}, "elicitation": {}}"#;
    for (protocol, needs, caller, said) in [
        (modern, elicitation, Caller::Silent, "`accepts_input: true`"),
        (modern, elicitation, Caller::Answers, "does not have here"),
        (
            legacy,
            elicitation,
            Caller::Answers,
            "its `protocol` to `modern`",
        ),
        (
            modern,
            both,
            Caller::Silent,
            "does not have here: `sampling`",
        ),
        (modern, "7", Caller::Silent, "does not name"),
    ] {
        let mut stage = Stage::new("lacks_capability").speaking(protocol);
        stage.server.caller = caller;
        stage
            .program()
            .env
            .push(("NEEDS".to_owned(), needs.to_owned()));
        let error = stage.run().result.unwrap_err();
        assert!(
            matches!(error, CallError::CapabilityMissing { .. }),
            "{error}"
        );
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn what_an_older_server_asks_for_while_it_is_called_is_refused_and_told() {
    for (mode, asked) in [
        ("asked:form", Some("Your name?")),
        ("asked:url", Some("Log in: https://example.com/in?t=***")),
        (
            "asked:sampling",
            Some("a model's answer (sampling/createMessage)"),
        ),
        // To have no roots is no lack.
        ("asked:roots", None),
    ] {
        let stage = Stage::new(mode);
        let end = stage.run();
        assert!(end.result.unwrap().is_error, "{mode}");
        assert_eq!(end.closing.finish().asked.as_deref(), asked, "{mode}");
        let reply = stage.received().pop().unwrap();
        assert_eq!(reply["error"]["code"], -32601, "{mode}");
    }
}
