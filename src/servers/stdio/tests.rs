//! A server on a pair of pipes, spoken to line by line as any client would.

mod lines;

use std::{thread, time::Duration};

use serde_json::{Map, Value, json};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
    },
    task::JoinHandle,
};

use super::*;
use crate::servers::tool::{Effect, Run, ToolError, World};

/// A tool that does what its argument `how` says.
fn actor() -> Tool {
    Tool {
        name: "act",
        title: "Act",
        description: "Does as told",
        input: json!({
            "type": "object",
            "properties": {
                "how": { "enum": ["echo", "fail", "panic", "step", "wait"] },
                "amount": { "type": "number", "maximum": 1000 },
                "count": { "type": "integer" },
            },
            "required": ["how"],
            "additionalProperties": false,
        }),
        output: json!({ "type": "object" }),
        effect: Effect::Additive,
        world: World::Closed,
        call: Box::new(act),
    }
}

fn act(arguments: &Map<String, Value>, run: &Run<'_>) -> Result<Value, ToolError> {
    match arguments["how"].as_str() {
        Some("echo") => Ok(Value::Object(arguments.clone())),
        Some("fail") => Err(ToolError::Corrupt("half of it is missing".to_owned())),
        Some("step") => {
            run.progress(0.5, Some(2.0), "begun");
            run.progress(1.5, Some(2.0), "nearly");
            Ok(json!({}))
        }
        Some("wait") => loop {
            run.check_cancelled()?;
            run.progress(1.0, None, "waiting");
            thread::sleep(Duration::from_millis(5));
        },
        _ => panic!("as told"),
    }
}

struct Client {
    write: WriteHalf<DuplexStream>,
    read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    /// A client of a fresh server, before any message.
    fn new() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = split(theirs);
        let server = tokio::spawn(serve_on(
            "acting",
            |gone| Handler::new("acting", vec![actor()], gone),
            read,
            write,
        ));
        let (read, write) = split(ours);
        Self {
            write,
            read: BufReader::new(read).lines(),
            server,
        }
    }

    /// A client after the handshake of 2025-11-25.
    async fn initialized() -> Self {
        let mut client = Self::new();
        let answer = client
            .ask(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}))
            .await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client
            .tell(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        client
    }

    async fn tell(&mut self, message: Value) {
        self.write
            .write_all(format!("{message}\n").as_bytes())
            .await
            .expect("the server reads");
    }

    async fn hear(&mut self) -> Value {
        let line = self
            .read
            .next_line()
            .await
            .expect("readable")
            .expect("the server still speaks");
        serde_json::from_str(&line).expect("a line is JSON")
    }

    async fn ask(&mut self, message: Value) -> Value {
        self.tell(message).await;
        self.hear().await
    }

    async fn call(&mut self, arguments: Value) -> Value {
        self.ask(
            json!({"jsonrpc": "2.0", "id": "call-1", "method": "tools/call",
            "params": {"name": "act", "arguments": arguments}}),
        )
        .await
    }
}

#[tokio::test]
async fn lists_tools_with_schemas_title_and_hints() {
    let mut client = Client::initialized().await;
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"}))
        .await;
    assert_eq!(answer["id"], 7);
    let tool = &answer["result"]["tools"][0];
    assert_eq!(tool["name"], "act");
    assert_eq!(tool["title"], "Act");
    assert_eq!(tool["inputSchema"]["properties"]["amount"]["maximum"], 1000);
    assert_eq!(tool["outputSchema"]["type"], "object");
    assert_eq!(tool["annotations"]["readOnlyHint"], false);
    assert_eq!(tool["annotations"]["destructiveHint"], false);
    assert_eq!(tool["annotations"]["idempotentHint"], true);
    assert_eq!(tool["annotations"]["openWorldHint"], false);
}

#[tokio::test]
async fn numbers_in_arguments_and_ids_come_back_as_they_were_sent() {
    let mut client = Client::initialized().await;
    for amount in [
        "1",
        "-0",
        "-3",
        "0.25",
        "1e+2",
        "123.4500",
        "-9223372036854775809",
        "-340282366920938463463374607431768211457",
    ] {
        let line = format!(
            r#"{{"jsonrpc":"2.0","id":41,"method":"tools/call","params":{{"name":"act","arguments":{{"how":"echo","amount":{amount}}},"_meta":{{"progressToken":5}}}}}}"#
        );
        client
            .write
            .write_all(format!("{line}\n").as_bytes())
            .await
            .expect("the server reads");
        let line = client
            .read
            .next_line()
            .await
            .expect("readable")
            .expect("an answer");
        assert!(
            line.contains(&format!(
                r#""structuredContent":{{"how":"echo","amount":{amount}}}"#
            )),
            "{line}"
        );
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["id"], 41);
        assert_ne!(answer["result"]["isError"], true);
        let text = answer["result"]["content"][0]["text"]
            .as_str()
            .expect("a text block");
        let said: Value = serde_json::from_str(text).expect("the same JSON as text");
        assert_eq!(said, answer["result"]["structuredContent"]);
    }
}

#[tokio::test]
async fn arguments_that_break_the_schema_are_named_in_an_error_result() {
    let mut client = Client::initialized().await;
    let answer = client
        .call(json!({"how": "echo", "amount": 1001, "more": true}))
        .await;
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"]
        .as_str()
        .expect("text");
    assert!(
        text.starts_with("invalid arguments: ") && text.contains("/amount: 1001"),
        "{text}"
    );
    assert!(text.contains("more"), "{text}");
}

#[tokio::test]
async fn a_whole_number_with_a_decimal_point_is_an_integer_where_the_schema_says_so() {
    let mut client = Client::initialized().await;
    let answer = client
        .call(json!({"how": "echo", "amount": 2.0, "count": 3.0}))
        .await;
    let echo = answer["result"]["structuredContent"].to_string();
    assert!(echo.contains("\"amount\":2.0"), "{echo}");
    assert!(
        echo.contains("\"count\":3,") || echo.contains("\"count\":3}"),
        "{echo}"
    );
}

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let mut client = Client::initialized().await;
    let answer = client
        .ask(
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "dance"}}),
        )
        .await;
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(
        answer["error"]["message"],
        "unknown tool `dance`; this server has: act"
    );
}

#[tokio::test]
async fn a_failing_tool_answers_with_its_error() {
    let mut client = Client::initialized().await;
    let answer = client.call(json!({"how": "fail"})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "input is corrupt or incomplete: half of it is missing"
    );
}

#[tokio::test]
async fn a_panicking_tool_answers_with_an_error_and_the_server_lives_on() {
    let mut client = Client::initialized().await;
    assert_eq!(
        client.call(json!({"how": "panic"})).await["result"]["isError"],
        true
    );
    assert_eq!(
        client.call(json!({"how": "echo"})).await["result"]["structuredContent"]["how"],
        "echo"
    );
}

#[tokio::test]
async fn progress_reaches_whoever_gave_a_token_and_only_grows() {
    let mut client = Client::initialized().await;
    client
        .tell(json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": {"name": "act", "arguments": {"how": "step"}, "_meta": {"progressToken": 17}}}))
        .await;
    let mut reached = 0.0;
    loop {
        let message = client.hear().await;
        if message["id"] == 3 {
            break;
        }
        assert_eq!(message["method"], "notifications/progress");
        assert_eq!(message["params"]["progressToken"], 17);
        assert_eq!(message["params"]["total"], 2.0);
        let progress = message["params"]["progress"].as_f64().expect("a number");
        assert!(progress > reached);
        reached = progress;
    }
    assert!(
        (reached - 1.5).abs() < f64::EPSILON,
        "the last progress is delivered, not {reached}"
    );
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_its_tool_stops() {
    let mut client = Client::initialized().await;
    client
        .tell(json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": {"name": "act", "arguments": {"how": "wait"}, "_meta": {"progressToken": "p"}}}))
        .await;
    assert_eq!(client.hear().await["method"], "notifications/progress");
    client
        .tell(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9, "reason": "x"}}))
        .await;
    assert_eq!(client.call(json!({"how": "echo"})).await["id"], "call-1");
}

/// The answers of the tools arrive while the server still reads and refuses the other requests.
#[tokio::test]
async fn every_request_among_others_is_answered_once_also_one_that_cannot_be_read() {
    const CALLS: usize = 200;
    let mut client = Client::initialized().await;
    let requests = (0..CALLS).map(|id| {
        let params = match id % 2 {
            0 => json!({"name": "act", "arguments": {"how": "echo"}}),
            _ => json!(5),
        };
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    });
    let lines = requests.collect::<Vec<_>>().join("\n");
    let mut write = client.write;
    let writing = tokio::spawn(async move {
        write.write_all(lines.as_bytes()).await.unwrap();
        write.write_all(b"\n").await.unwrap();
        write
    });
    let mut answered = Vec::new();
    while answered.len() < CALLS {
        let line = tokio::time::timeout(Duration::from_secs(20), client.read.next_line()).await;
        let line = line.expect("an answer is missing").unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        answered.push(usize::try_from(answer["id"].as_u64().unwrap()).unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..CALLS).collect::<Vec<_>>());
    drop(writing.await);
}

#[tokio::test]
async fn the_server_ends_when_its_client_leaves_and_a_running_tool_is_cancelled() {
    let mut client = Client::initialized().await;
    client
        .tell(json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": {"name": "act", "arguments": {"how": "wait"}, "_meta": {"progressToken": "p"}}}))
        .await;
    assert_eq!(client.hear().await["method"], "notifications/progress");
    let Client {
        write,
        read,
        server,
    } = client;
    drop((write, read));
    server.await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn a_client_that_never_speaks_is_no_failure() {
    let Client {
        write,
        read,
        server,
    } = Client::new();
    drop((write, read));
    server.await.expect("no panic").expect("a clean end");
}

#[tokio::test]
async fn the_stateless_era_needs_no_handshake() {
    let mut client = Client::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}))
        .await;
    let versions = answer["result"]["supportedVersions"]
        .as_array()
        .expect("versions");
    assert!(
        versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")),
        "{answer}"
    );
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "act", "arguments": {"how": "echo", "amount": 0.5}, "_meta": meta}}))
        .await;
    assert_eq!(
        answer["result"]["structuredContent"]["amount"], 0.5,
        "{answer}"
    );
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn lines_that_are_no_request_do_not_stop_the_server() {
    let mut client = Client::initialized().await;
    client
        .write
        .write_all(b"not json\n\n")
        .await
        .expect("the server reads");
    client
        .tell(json!({"jsonrpc": "2.0", "method": "notifications/unheard-of"}))
        .await;
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": 5}))
        .await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(4), &json!(-32600)),
        "{answer}"
    );
    assert_eq!(client.call(json!({"how": "echo"})).await["id"], "call-1");
}

/// rmcp would take the last of two members, and nobody has said that.
#[test]
fn an_ambiguous_answer_over_http_decides_nothing() {
    for content in [
        r#"{"approve":false,"approve":true}"#,
        r#"{"$serde_json::private::Number":"1","approve":true}"#,
    ] {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"action":"accept","content":{content}}}}}"#
        );
        let said = vetted(answer.as_bytes());
        let said = said.unwrap_or_else(|refusal| refusal.to_string().into_bytes());
        let said: Value = serde_json::from_slice(&said).unwrap();
        assert!(
            said.get("error").is_some() && said.get("result").is_none(),
            "{said}"
        );
    }
    for answer in [
        r#"{"jsonrpc":"2.0","id":0,"result":{},"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{"action":"accept"},"result":{}}"#,
    ] {
        let said = vetted(answer.as_bytes()).unwrap();
        assert!(
            String::from_utf8(said).unwrap().contains("\"error\""),
            "{answer}"
        );
    }
}

/// rmcp cannot hold them, and over HTTP it reads the arguments itself.
#[test]
fn a_larger_integer_over_http_is_refused_with_the_way_round() {
    let call = |argument: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{"a":[{argument}]}}}}}}"#
        )
    };
    let refusal = vetted(call("123456789012345678901234567890").as_bytes()).unwrap_err();
    assert_eq!(refusal["id"], 7);
    let problem = refusal["error"]["message"].as_str().unwrap();
    assert!(problem.contains("send it as a string"), "{problem}");
    let small = call("18446744073709551615");
    assert_eq!(vetted(small.as_bytes()).unwrap(), small.as_bytes());
}
