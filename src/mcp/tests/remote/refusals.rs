//! Refusals that contradict themselves, that quote a secret, or that are about a session.

use super::*;

#[test]
fn a_server_that_fails_has_not_said_that_it_knows_no_such_method() {
    let quoting = |request: &Request| request.error(-32000, "upstream said -32601").to_string();
    let unknown = |request: &Request| request.error(-32601, "Method not found").to_string();
    for (status, trouble) in [
        ("500 Internal Server Error", Trouble::Lost),
        ("504 Gateway Timeout", Trouble::Lost),
        ("409 Conflict", Trouble::Strange),
    ] {
        for body in [quoting, unknown] {
            let server = modern_but(move |request| http(status, &[JSON], &body(request)));
            let (kind, text, effect) = failed(server.stage().run());
            assert_eq!((kind, effect), (trouble, Effect::Unknown), "{text}");
        }
    }
    let server = modern_but(move |request| http("404 Not Found", &[JSON], &quoting(request)));
    let (kind, text, effect) = failed(server.stage().run());
    assert_eq!((kind, effect), (Trouble::Absent, Effect::None), "{text}");
    let server = modern_but(move |request| http("404 Not Found", &[JSON], &unknown(request)));
    let end = server.stage().run();
    let code = matches!(end.result, Err(CallError::Rpc { code: -32601, .. }));
    assert!(code && end.effect == Effect::None, "{:?}", end.result);
}

#[test]
fn a_result_with_the_status_of_a_refusal_is_neither() {
    for status in [
        "400 Bad Request",
        "401 Unauthorized",
        "404 Not Found",
        "500 Internal Server Error",
    ] {
        for text in ["done", "-32601"] {
            let server = modern_but(move |request| {
                let result = json!({"content": [{"type": "text", "text": text}]});
                http(status, &[JSON], &request.result(&result).to_string())
            });
            let (kind, text, effect) = failed(server.stage().run());
            assert_eq!(
                (kind, effect),
                (Trouble::Strange, Effect::Unknown),
                "{text}"
            );
            assert_eq!(server.calls(), 1);
        }
    }
}

#[test]
fn a_redirect_to_another_method_may_come_after_the_call() {
    for status in ["301 Moved Permanently", "302 Found", "303 See Other"] {
        let server = modern_but(move |_| http(status, &[("Location", "/done")], ""));
        let (kind, text, effect) = failed(server.stage().run());
        assert_eq!((kind, effect), (Trouble::Moved, Effect::Unknown), "{text}");
        assert!(text.contains("/done"), "{text}");
    }
    for status in ["300 Multiple Choices", "304 Not Modified"] {
        let server = modern_but(move |_| http(status, &[("Location", "/done")], ""));
        let (kind, text, effect) = failed(server.stage().run());
        assert_eq!(
            (kind, effect),
            (Trouble::Strange, Effect::Unknown),
            "{text}"
        );
        assert!(!text.contains("redirect"), "{text}");
    }
}

#[test]
fn a_secret_is_cut_before_a_text_is_shortened() {
    // Enough of each text goes before the secret that only its first half would be shown.
    let half = SECRET.len() / 2;
    let key = SECRET.split_at(half).0;
    let before = |most: usize| "x".repeat(most - half - 1) + " " + SECRET;
    let said = before(300);
    let named = before(200);
    for (status, name, value, body) in [
        ("500 Internal Server Error", "X-Other", "x".to_owned(), said),
        (
            "401 Unauthorized",
            "WWW-Authenticate",
            named.clone(),
            String::new(),
        ),
        (
            "429 Too Many Requests",
            "Retry-After",
            named.clone(),
            String::new(),
        ),
        ("200 OK", "Content-Type", named.clone(), String::new()),
    ] {
        let server = modern_but(move |_| http(status, &[(name, &value)], &body));
        let (_, text, _) = failed(server.stage().run());
        assert!(text.contains("xxx") && !text.contains(key), "{text}");
    }
    let server = modern_but(move |request| {
        let answer = json!({"jsonrpc": "2.0", "id": named, "result": hello()});
        drop(request.clone());
        json_reply(&answer)
    });
    let text = server.stage().run().result.unwrap_err().to_string();
    assert!(!text.contains(key), "{text}");
}

#[test]
fn a_type_of_content_is_told_as_it_is_written() {
    let long = "Text/X-".to_owned() + &"y".repeat(5_000);
    let server = modern_but(move |_| http("200 OK", &[("Content-Type", &long)], ""));
    let (_, text, _) = failed(server.stage().run());
    assert!(text.contains("Text/X-y") && text.len() < 600, "{text}");
    let server = modern_but(|request| {
        let body = request.result(&hello()).to_string();
        http("200 OK", &[("Content-Type", "Application/JSON")], &body)
    });
    assert_eq!(only_text(&server.stage().run()), "hello");
}

/// A legacy server whose session has that id.
fn with_session(
    id: &'static str,
    call: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Server {
    Server::start(move |request| match request.method() {
        "initialize" => match legacy(request) {
            Reply::Bytes(bytes) => {
                let text = String::from_utf8(bytes).unwrap();
                Reply::Bytes(text.replace("s-1", id).into_bytes())
            }
            silence @ Reply::Silence(_) => silence,
        },
        "tools/call" => call(request),
        _ => legacy(request),
    })
}

#[test]
fn the_id_of_a_session_is_a_secret() {
    let server = with_session("session-number-4711", |request| {
        http(
            "500 Internal Server Error",
            &[],
            request.header("mcp-session-id").unwrap(),
        )
    });
    let end = server.stage().run();
    assert_eq!(end.closing.secrets().cut("session-number-4711"), "***");
    let (_, text, _) = failed(end);
    assert!(text.contains("***") && !text.contains("4711"), "{text}");
}

#[test]
fn only_what_servers_say_of_a_lost_session_is_one() {
    for (status, code, message, is_lost) in [
        ("404 Not Found", None, "Not Found", true),
        ("404 Not Found", Some(-32001), "Session not found", true),
        ("404 Not Found", Some(-32600), "Session terminated", true),
        (
            "404 Not Found",
            Some(-32602),
            "no such session of yoga",
            false,
        ),
        ("404 Not Found", Some(-32601), "Method not found", false),
        ("400 Bad Request", Some(-32000), "No valid Session ID", true),
        (
            "400 Bad Request",
            Some(-32602),
            "session is too long",
            false,
        ),
        ("400 Bad Request", None, "which session?", false),
        ("405 Method Not Allowed", None, "no", false),
        ("415 Unsupported Media Type", Some(-32000), "session", false),
        (
            "500 Internal Server Error",
            Some(-32001),
            "Session not found",
            false,
        ),
    ] {
        let server = legacy_but(move |request| {
            let error = code.map(|code| request.error(code, message).to_string());
            http(
                status,
                &[JSON],
                &error.unwrap_or_else(|| message.to_owned()),
            )
        });
        let end = server.stage().run();
        let trouble = end.result.as_ref().err().and_then(CallError::trouble);
        assert_eq!(
            trouble == Some(Trouble::Gone),
            is_lost,
            "{status} {message}: {:?}",
            end.result
        );
        assert_eq!(
            server.calls(),
            if is_lost { 2 } else { 1 },
            "{status} {message}"
        );
    }
}

#[test]
fn a_session_is_opened_by_the_answer_to_initialize_alone() {
    let other = |request: &Request| {
        let id = ("Mcp-Session-Id", "s-of-another");
        match request.method() {
            "server/discover" => http(
                "200 OK",
                &[JSON, id],
                &request.error(-32601, "Method not found").to_string(),
            ),
            "tools/call" => http("200 OK", &[JSON, id], &request.result(&hello()).to_string()),
            _ => legacy(request),
        }
    };
    let server = Server::start(other);
    let end = server.stage().run();
    assert_eq!(only_text(&end), "hello");
    end.closing.finish();
    let requests = server.requests();
    let sessions: Vec<_> = requests
        .iter()
        .filter_map(|request| request.header("mcp-session-id"))
        .collect();
    assert_eq!(sessions, ["s-1", "s-1", "s-1"]);
}

#[test]
fn a_stray_answer_to_an_earlier_request_explains_no_later_failure() {
    let server = Server::start(|request| match request.method() {
        "tools/list" => {
            let stray = json!({"jsonrpc": "2.0", "id": 4711, "result": {}});
            let list = request
                .result(&json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}));
            Reply::Bytes((STREAM.to_owned() + &event(&stray) + &event(&list)).into_bytes())
        }
        "tools/call" => Reply::Bytes(Vec::new()),
        _ => modern(request),
    });
    let (kind, text, _) = failed(server.stage().run());
    assert_eq!(kind, Trouble::Lost, "{text}");
}

#[test]
fn a_stream_with_lines_that_mean_nothing_is_read() {
    let server = modern_but(|request| {
        let answer = event(&request.result(&hello())).replace("event: message", "event:");
        let odd = "\u{feff}retry: soon\nunknown: x\nno colon\nid: 1\nid: 2\n\n";
        Reply::Bytes((STREAM.to_owned() + odd + &answer + "no colon\n").into_bytes())
    });
    assert_eq!(only_text(&server.stage().run()), "hello");
}
