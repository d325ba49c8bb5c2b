//! How a session begins, in both eras.

use super::*;

#[test]
fn auto_takes_a_legacy_server_as_it_is() {
    let stage = Stage::new("echo").speaking(Protocol::Auto);
    assert!(stage.run().result.is_ok());
    assert_eq!(
        stage.methods(),
        ["initialize", "notifications/initialized", "tools/call"]
    );
}

#[test]
fn auto_goes_on_with_the_same_process_when_initialize_is_refused() {
    let stage = Stage::new("modern").speaking(Protocol::Auto);
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(
        stage.methods(),
        ["initialize", "server/discover", "tools/call"]
    );
    let report = end.closing.finish();
    assert_eq!(report.protocol.as_deref(), Some("2026-07-28"));
    assert_eq!(report.server_info, Some(("new".to_owned(), "2".to_owned())));
    stage.assert_nobody_left(&["server"]);
}

#[test]
fn auto_starts_a_server_again_that_refused_and_ended() {
    let stage = Stage::new("modern_once").speaking(Protocol::Auto);
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(stage.methods().last().unwrap(), "tools/call");
    end.closing.finish();
    stage.assert_nobody_left(&["server", "server"]);
}

#[test]
fn a_server_that_refuses_both_eras_is_told_with_both_reasons() {
    let end = Stage::new("no_era").speaking(Protocol::Auto).run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::Negotiate)
    );
    let error = end.result.unwrap_err();
    assert!(
        matches!(error, CallError::ProtocolMismatch { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("no database") && error.to_string().contains("no such method"),
        "{error}"
    );
}

#[test]
fn a_modern_server_gets_the_call_with_all_it_needs_once_it_is_ready() {
    let stage = Stage::new("modern").speaking(Protocol::Modern);
    assert!(stage.run().result.is_ok());
    let received = stage.received();
    let [discover, call] = received.as_slice() else {
        panic!("more than the call: {received:?}")
    };
    assert_eq!(discover["method"], "server/discover");
    let meta = &call["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "oneact");
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({})
    );
}

#[test]
fn a_server_without_our_version_is_not_asked_again() {
    let stage = Stage::new("newer").speaking(Protocol::Modern);
    let error = stage.run().result.unwrap_err();
    assert!(
        matches!(error, CallError::ProtocolMismatch { .. }),
        "{error}"
    );
    assert_eq!(stage.methods(), ["server/discover"]);
}

#[test]
fn an_older_version_is_taken() {
    let end = Stage::new("old").run();
    assert!(end.result.is_ok());
    assert_eq!(end.closing.finish().protocol.as_deref(), Some("2024-11-05"));
}

#[test]
fn an_unknown_version_is_not() {
    let end = Stage::new("bad_version").run();
    let error = end.result.unwrap_err();
    assert!(
        matches!(error, CallError::ProtocolMismatch { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("2099-01-01"), "{error}");
    assert_eq!(end.effect, Effect::None);
}

#[test]
fn a_legacy_handshake_that_is_refused_is_the_servers_error() {
    let error = Stage::new("no_era").run().result.unwrap_err();
    assert!(
        matches!(
            error,
            CallError::Rpc {
                method: "initialize",
                code: -32603,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_malformed_handshake_ends_it_at_once() {
    let error = Stage::new("init_malformed").run().result.unwrap_err();
    assert!(matches!(error, CallError::Malformed { .. }), "{error}");
}

/// The server `era` in that era.
fn in_era(era: &str, protocol: Protocol) -> Stage {
    let mut stage = Stage::new("era").speaking(protocol);
    stage.program().env.push(("ERA".to_owned(), era.to_owned()));
    stage
}

#[test]
fn auto_starts_a_server_again_that_ended_at_initialize() {
    let stage = in_era("modern_dies", Protocol::Auto);
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(
        stage.methods(),
        ["initialize", "server/discover", "tools/call"]
    );
    end.closing.finish();
    stage.assert_nobody_left(&["server", "server"]);
}

#[test]
fn auto_asks_a_fresh_process_when_initialize_meets_silence() {
    let mut stage = in_era("modern_deaf", Protocol::Auto);
    stage.server.startup_timeout = Duration::from_secs(10);
    let end = stage.run();
    assert!(end.result.is_ok(), "{:?}", end.result);
    assert_eq!(
        stage.methods(),
        ["initialize", "server/discover", "tools/call"]
    );
    end.closing.finish();
    stage.assert_nobody_left(&["server", "server"]);
}

#[test]
fn auto_tells_of_a_server_that_always_ends_what_it_said_first() {
    let stage = Stage::new("exits").speaking(Protocol::Auto);
    let end = stage.run();
    assert_eq!(
        (end.effect, end.course.phase),
        (Effect::None, Phase::Negotiate)
    );
    let error = end.result.unwrap_err();
    assert!(
        matches!(&error, CallError::ExitedBeforeReady { .. }),
        "{error}"
    );
    assert!(error.to_string().contains("no key"), "{error}");
    end.closing.finish();
    stage.assert_nobody_left(&["server", "server"]);
}

#[test]
fn a_modern_server_that_is_called_legacy_is_suspected() {
    let stage = Stage::new("modern");
    let error = stage.run().result.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("set `protocol = \"modern\"` in [server.misbehaving], or \"auto\""),
        "{error}"
    );
    assert_eq!(stage.methods(), ["initialize"]);
}

#[test]
fn a_legacy_server_that_is_called_modern_is_suspected() {
    for stage in [
        in_era("legacy", Protocol::Modern),
        in_era("legacy", Protocol::Modern).checked(),
    ] {
        let error = stage.run().result.unwrap_err();
        assert!(
            error
                .to_string()
                .contains("set `protocol = \"legacy\"` in [server.misbehaving], or \"auto\""),
            "{error}"
        );
    }
}

#[test]
fn a_modern_server_that_has_shown_itself_is_not_suspected() {
    let mut stage = in_era("modern", Protocol::Modern).checked();
    stage.call.arguments = object(json!({"text": "refuse"}));
    let error = stage.run().result.unwrap_err();
    assert!(matches!(error, CallError::Rpc { .. }), "{error}");
    assert!(!error.to_string().contains("protocol"), "{error}");
}

#[test]
fn answers_to_requests_of_nobody_are_skipped_before_and_during_the_handshake() {
    for protocol in [Protocol::Legacy, Protocol::Auto] {
        let end = Stage::new("stray").speaking(protocol).run();
        assert!(end.result.is_ok(), "{:?}", end.result);
    }
}
