//! What a call gives back.

use super::{
    super::{answer::Block, message::CALL, wire::Wire},
    *,
};

#[test]
fn arguments_reach_the_tool_unchanged_and_the_answer_comes_back() {
    let mut stage = Stage::new("echo");
    let text = r#"{"z":123456789012345678901234567890,"a":1e2,"text":"ü","nested":{"b":[0.10]}}"#;
    stage.call.arguments = serde_json::from_str(text).unwrap();

    let end = stage.run();

    assert_eq!(end.course.phase, Phase::Call);
    assert_eq!(end.effect, Effect::Done);
    assert_eq!(
        stage.methods(),
        ["initialize", "notifications/initialized", "tools/call"]
    );
    let line = fs::read_to_string(stage.folder.join("received")).unwrap();
    assert!(
        line.contains(r#""arguments":{"z":123456789012345678901234567890,"a":"#),
        "{line}"
    );
    let sent = stage.received().pop().unwrap();
    assert_eq!(
        sent["params"]["arguments"],
        Value::Object(stage.call.arguments.clone())
    );
    assert!(only_text(&end).contains("\"nested\""));
    let report = end.closing.finish();
    assert_eq!(report.protocol.as_deref(), Some("2025-11-25"));
    assert_eq!(
        report.server_info,
        Some(("misbehaving".to_owned(), "1.2".to_owned()))
    );
    assert_eq!(report.exit_status, Some(ExitDescription::Code(0)));
    assert_eq!(
        (report.killed, report.stdout_noise),
        (vec![], Noise::default())
    );
}

#[test]
fn the_server_sees_the_environment_it_was_given_and_no_other() {
    let stage = Stage::new("environment");
    let end = stage.run();
    let names: Vec<String> = serde_json::from_str(&only_text(&end)).unwrap();
    assert_eq!(names, ["PATH", "PIDS", "RECEIVED"]);
}

#[test]
fn no_digit_of_a_structured_number_is_lost_and_extra_members_do_not_hide_the_content() {
    let answer = Stage::new("odd:exact").run().result.unwrap();
    assert_eq!(
        structured(&answer).unwrap().to_string(),
        "123456789012345678901234567890"
    );
}

#[test]
fn every_kind_of_content_is_read_and_an_unknown_kind_is_kept() {
    let answer = Stage::new("contents").run().result.unwrap();
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(structured(&answer), Some(Value::Null));
    assert_eq!(
        answer.content.iter().map(Block::read).collect::<Vec<_>>(),
        [
            Content::Text("t".to_owned()),
            Content::Blob {
                mime: some("image/png"),
                base64: "aW1n".to_owned(),
                uri: None
            },
            Content::Blob {
                mime: some("audio/wav"),
                base64: "YXVk".to_owned(),
                uri: None
            },
            Content::Blob {
                mime: some("a/b"),
                base64: "Yg==".to_owned(),
                uri: some("file:///b")
            },
            Content::TextResource {
                uri: "file:///t".to_owned(),
                mime: None,
                text: "words".to_owned()
            },
            Content::ResourceLink {
                uri: "file:///l".to_owned(),
                name: some("link"),
                mime: None
            },
            Content::Other,
            Content::Other,
        ]
    );
}

#[test]
fn a_tool_that_failed_has_answered() {
    let end = Stage::new("is_error").run();
    assert_eq!((end.effect, end.course.phase), (Effect::Done, Phase::Call));
    assert!(end.result.unwrap().is_error);
}

#[test]
fn an_error_answer_comes_with_its_code_and_without_secrets() {
    let end = Stage::new("rpc_error").run();
    assert_eq!((end.effect, end.course.phase), (Effect::Done, Phase::Call));
    let error = end.result.unwrap_err();
    let CallError::Rpc {
        code,
        message,
        words,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((*code, message.as_str()), (-32603, "no, ***"));
    assert_eq!(words.as_deref(), Some("no, ***\n{\"k\":[\"***\"]}"));
}

#[test]
fn odd_answers_that_can_be_understood_are() {
    for mode in ["odd:error_null", "odd:string_id", "odd:nan"] {
        let end = Stage::new(mode).run();
        assert!(end.result.is_ok(), "{mode}: {:?}", end.result);
    }
}

#[test]
fn odd_answers_that_cannot_end_the_call_at_once() {
    for mode in [
        "error_string",
        "code_string",
        "result_null",
        "result_array",
        "neither",
        "both",
        "twice",
        "task",
        "content_text",
        "not_utf8",
        "cut",
        "cut_early",
    ] {
        let end = Stage::new(&format!("odd:{mode}")).run();
        assert!(
            matches!(end.result, Err(CallError::Malformed { .. })),
            "{mode}: {:?}",
            end.result
        );
        assert_eq!(
            (end.effect, end.course.phase),
            (Effect::Unknown, Phase::Call),
            "{mode}: what the tool did cannot be read"
        );
    }
}

#[test]
fn an_error_that_could_not_name_its_request_is_taken_for_ours() {
    let end = Stage::new("odd:unread").run();
    assert!(
        matches!(end.result, Err(CallError::Rpc { code: -32700, .. })),
        "{:?}",
        end.result
    );
    assert_eq!(end.effect, Effect::Unknown);
}

#[test]
fn an_error_without_an_id_is_about_a_notification_if_one_was_sent() {
    let answered = Stage::new("answers_notifications").run();
    assert_eq!(only_text(&answered), "done");
    assert_eq!(answered.effect, Effect::Done);

    let unread = Stage::new("answers_notifications")
        .speaking(Protocol::Modern)
        .run();
    assert!(
        matches!(unread.result, Err(CallError::Rpc { code: -32600, .. })),
        "{:?}",
        unread.result
    );
    assert_eq!(unread.effect, Effect::Unknown);
}

#[test]
fn noise_is_counted_and_never_answered_and_a_message_behind_it_is_found() {
    let stage = Stage::new("noise");
    let end = stage.run();
    assert_eq!(only_text(&end), "loaded");
    let noise = end.closing.finish().stdout_noise;
    assert_eq!(noise.lines, 6);
    assert_eq!(
        noise.sample,
        "starting\n{\"level\":\"info\"}\n42\n[1,2]\nÿ\nLoading..."
    );
    assert_eq!(
        stage.methods().len(),
        stage.received().len(),
        "only requests and notifications went out"
    );
}

#[test]
fn much_noise_is_counted_and_little_of_it_kept() {
    let end = Stage::new("noisy").run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    let noise = end.closing.finish().stdout_noise;
    assert_eq!((noise.lines, noise.sample.len()), (1000, 2048));
}

#[test]
fn a_last_line_without_a_newline_counts() {
    assert_eq!(only_text(&Stage::new("no_newline").run()), "the end");
}

#[test]
fn a_ping_is_answered_and_every_other_question_refused() {
    let end = Stage::new("asks").run();
    let told: Value = serde_json::from_str(&only_text(&end)).unwrap();
    assert_eq!(
        told,
        json!({"ping": "answered", "roots/list": -32601, "sampling/createMessage": -32601, "elicitation/create": -32601})
    );
    assert_eq!(
        end.closing.finish().asked.as_deref(),
        Some("a model's answer (sampling/createMessage)"),
        "the first thing asked"
    );
}

#[test]
fn arguments_are_checked_against_the_page_that_has_the_tool() {
    let stage = Stage::new("echo").checked();
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(
        stage
            .methods()
            .iter()
            .filter(|method| *method == "tools/list")
            .count(),
        2
    );
}

#[test]
fn wrong_arguments_never_reach_the_tool() {
    let mut stage = Stage::new("echo").checked();
    stage.call.arguments = object(json!({"text": 7}));
    let end = stage.run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::ValidateArguments)
    );
    let error = end.result.unwrap_err();
    let CallError::ArgumentsInvalid { problems, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.pointer.as_str())
            .collect::<Vec<_>>(),
        ["/text"]
    );
    assert!(!stage.methods().contains(&"tools/call".to_owned()));
}

#[test]
fn an_unknown_tool_is_told_with_its_nearest_names() {
    let mut stage = Stage::new("echo").checked();
    stage.call.tool = "ecko".to_owned();
    let error = stage.run().result.unwrap_err();
    let CallError::UnknownTool {
        near, available, ..
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!(
        (near.as_slice(), available.len()),
        (["echo".to_owned()].as_slice(), 3)
    );
}

#[test]
fn pages_without_end_end() {
    let mut stage = Stage::new("endless_pages").checked();
    stage.call.tool = "none".to_owned();
    assert!(matches!(
        stage.run().result,
        Err(CallError::Malformed {
            method: "tools/list",
            ..
        })
    ));
}

#[test]
fn a_constraint_that_oneact_cannot_read_is_left_to_the_server_and_told() {
    let stage = Stage::new("schema:javascript").checked();
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    let [note] = end.course.notes.as_slice() else {
        panic!("not one note: {:?}", end.course.notes)
    };
    assert!(note.contains("/properties/text/pattern"), "{note}");
    let mut stage = Stage::new("schema:javascript").checked();
    stage.call.arguments = object(json!({"text": "a", "n": 0}));
    let error = stage.run().result.unwrap_err();
    assert!(
        matches!(error, CallError::ArgumentsInvalid { .. }),
        "{error}"
    );
}

#[test]
fn a_schema_that_refers_to_nothing_is_refused_with_the_remedy() {
    let error = Stage::new("schema:dangling")
        .checked()
        .run()
        .result
        .unwrap_err();
    assert!(matches!(error, CallError::SchemaUnusable { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("add a `parameter_schema_for_action`"),
        "{error}"
    );
}

#[test]
fn a_schema_from_elsewhere_is_refused_not_fetched() {
    let mut stage = Stage::new("echo").checked();
    stage.call.tool = "remote".to_owned();
    let end = stage.run();
    assert!(
        matches!(end.result, Err(CallError::SchemaUnusable { .. })),
        "{:?}",
        end.result
    );
    assert_eq!(end.effect, Effect::None);
}

#[test]
fn an_answer_larger_than_rmcp_would_take_comes_whole() {
    let end = Stage::new("large").run();
    let answer = end.result.unwrap();
    let [block] = answer.content.as_slice() else {
        panic!("not one block")
    };
    assert!(matches!(block.read(), Content::Text(text) if text.len() == 17 * 1024 * 1024));
}

#[test]
fn a_clock_that_stands_still_measures_nothing() {
    let stage = Stage::new("echo");
    let host = Host::new(
        Some("2026-01-01T00:00:00+00:00[UTC]".parse().unwrap()),
        None,
        Interrupts::catch(),
    );
    let end = call(&stage.server, &stage.call, &host, &mut |_| ());
    assert!(end.result.is_ok());
    assert_eq!(end.course.elapsed, Duration::ZERO);
    assert_eq!(end.closing.finish().timings, Timings::default());
}

#[test]
fn the_debug_text_of_a_server_tells_no_secret() {
    let mut stage = Stage::new("echo");
    stage
        .program()
        .env
        .push(("TOKEN".to_owned(), SECRET.to_owned()));
    stage.program().argv.push(SECRET.to_owned());
    assert!(!format!("{:?}", stage.server).contains(SECRET));
}

#[test]
fn the_name_a_server_gives_itself_tells_no_secret() {
    let mut stage = Stage::new("echo");
    let name = format!("for {SECRET}");
    stage.program().env.push(("NAME".to_owned(), name));
    let report = stage.run().closing.finish();
    assert_eq!(
        report.server_info,
        Some(("for ***".to_owned(), "1.2".to_owned()))
    );
}

#[test]
fn the_first_of_two_answers_counts() {
    let stage = Stage::new("double");
    let end = stage.run();
    assert_eq!(only_text(&end), "first");
    assert_eq!(
        end.closing.finish().exit_status,
        Some(ExitDescription::Code(0))
    );
}

#[test]
fn answers_that_nobody_waits_for_are_passed_over() {
    for stage in [
        Stage::new("strangers"),
        Stage::new("strangers").checked(),
        Stage::new("strangers").speaking(Protocol::Modern).checked(),
    ] {
        assert_eq!(only_text(&stage.run()), "ours");
    }
}

#[test]
fn notifications_and_pings_before_an_answer_are_passed_over() {
    let stage = Stage::new("notifies");
    let end = stage.run();
    assert_eq!(only_text(&end), "done");
    assert_eq!(end.closing.finish().stdout_noise, Noise::default());
    let answered = stage.received();
    assert!(
        answered.iter().any(|message| message["id"] == "early"),
        "{answered:?}"
    );
}

#[test]
fn ten_thousand_notifications_before_an_answer_do_not_matter() {
    assert_eq!(only_text(&Stage::new("chatters").run()), "done");
}

#[test]
fn an_answer_that_came_before_its_call_was_sent_does_not_count() {
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
    let mut wire = Wire::new(&Secrets::default());
    wire.send(1, CALL, Map::new());
    assert!(wire.hear(answer.to_vec()).is_ok());
    assert!(wire.answer.is_none());
    wire.sent(wire.outgoing.len());
    assert!(wire.hear(answer.to_vec()).is_ok());
    assert!(wire.answer.is_some());
}

#[test]
fn what_came_before_a_request_does_not_count_whatever_else_the_server_writes() {
    for _ in 0..10 {
        let end = Stage::new("early").checked().graceless().run();
        assert_eq!(only_text(&end), "real");
    }
}

#[test]
fn a_text_that_cannot_be_read_breaks_the_protocol_however_large_it_is() {
    let end = Stage::new("large_half").run();
    assert_eq!(end.effect, Effect::Unknown);
    let error = end.result.unwrap_err();
    assert!(matches!(error, CallError::Malformed { .. }), "{error}");
}
