//! Lines that are no requests, or that are too long or not ended; and how answers are written.

use super::*;

#[tokio::test]
async fn a_request_that_cannot_be_read_is_refused_with_its_id_and_an_answer_is_not_answered() {
    let mut client = Client::initialized().await;
    let long = "9".repeat(30);
    for (line, id) in [
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, "1.5"),
        (r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#, "1.0"),
        (r#"{"jsonrpc":"2.0","id":1e0,"method":"ping"}"#, "1e+0"),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"act","arguments":[1]}}"#,
            "9",
        ),
        (
            &format!(r#"{{"jsonrpc":"2.0","id":{long},"method":"ping"}}"#),
            &long,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
            "null",
        ),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, "null"),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "null"),
        ("[]", "null"),
        ("5", "null"),
    ] {
        let refused = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let lines = format!("{refused}\n{line}\n");
        client.write.write_all(lines.as_bytes()).await.unwrap();
        let answer = client.hear().await;
        assert_eq!(answer["error"]["code"], -32600, "{line} {answer}");
        assert_eq!(answer["id"].to_string(), id, "{line} {answer}");
    }
    assert_eq!(client.call(json!({"how": "echo"})).await["id"], "call-1");
}

#[tokio::test]
async fn what_steers_a_terminal_is_escaped_in_answers() {
    let mut client = Client::initialized().await;
    for line in [
        json!({"jsonrpc": "2.0", "id": "\u{202e}", "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "\u{202e}\u{9b}"}),
    ] {
        client.tell(line).await;
        let line = client.read.next_line().await.unwrap().unwrap();
        assert!(line.is_ascii() && line.contains("\\u202e"), "{line}");
    }
}

#[tokio::test]
async fn a_last_line_without_a_line_feed_is_answered() {
    let mut client = Client::initialized().await;
    let last = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    client.write.write_all(last.as_bytes()).await.unwrap();
    client.write.shutdown().await.unwrap();
    assert_eq!(client.hear().await["id"], 7);
    client.server.await.unwrap().expect("a clean end");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_ends_the_server_with_an_error() {
    for mut client in [Client::new(), Client::initialized().await] {
        let mut write = client.write;
        let writing = tokio::spawn(async move {
            let block = vec![b' '; 1 << 20];
            while write.write_all(&block).await.is_ok() {}
        });
        let line = client.read.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        drop(client.read);
        let ended = client.server.await.unwrap().expect_err("it cannot go on");
        assert!(ended.to_string().contains("64 MiB"), "{ended}");
        writing.abort();
    }
}

/// A ping, a probe and refused requests begin no session.
#[tokio::test]
async fn a_notification_or_an_answer_before_the_session_is_skipped_also_between_requests() {
    let meta = |version: &str| {
        json!({"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {}})
    };
    let mut client = Client::new();
    for request in [
        json!({"method": "ping"}),
        json!({"method": "server/discover", "params": {"_meta": meta("2026-07-28")}}),
        json!({"method": "tools/list"}),
        json!({"method": "tools/list", "params": {"_meta": {}}}),
        json!({"method": "tools/list", "params": {"_meta": meta("2099-01-01")}}),
        json!({"method": "unheard-of"}),
        json!({"method": "tools/list", "params": {"_meta": meta("2026-07-28")}}),
    ] {
        for skipped in [
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}),
        ] {
            client.tell(skipped).await;
        }
        let mut request = request;
        request["jsonrpc"] = "2.0".into();
        request["id"] = 5.into();
        assert_eq!(client.ask(request).await["id"], 5);
    }
    drop((client.write, client.read));
    client.server.await.unwrap().expect("a clean end");
}

#[tokio::test]
async fn the_first_call_of_the_stateless_era_can_be_cancelled_while_it_runs() {
    let mut client = Client::new();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": 1});
    client
        .tell(json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": {"name": "act", "arguments": {"how": "wait"}, "_meta": meta}}))
        .await;
    assert_eq!(client.hear().await["method"], "notifications/progress");
    client
        .tell(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}))
        .await;
    let list =
        json!({"jsonrpc": "2.0", "id": 10, "method": "tools/list", "params": {"_meta": meta}});
    client.tell(list).await;
    loop {
        let message = client.hear().await;
        if message["id"] == 10 {
            break;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
    }
}
