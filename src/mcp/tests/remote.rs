//! Calls over HTTP, on a server on loopback that misbehaves in one way per test (design: MCP over HTTP, "What follows").

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use url::Url;

use super::*;

mod kept;
mod refusals;
mod tokens;

/// A request as it came.
#[derive(Debug, Clone)]
struct Request {
    verb: String,
    path: String,
    /// Names in lower case.
    headers: HashMap<String, String>,
    message: Value,
}

/// What is sent back, byte for byte, and what happens then.
enum Reply {
    /// The connection is closed.
    Bytes(Vec<u8>),
    /// It stays open, and nothing more is sent.
    Silence(Vec<u8>),
}

struct Server {
    url: Url,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Request {
    fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or(&self.verb)
    }

    fn is(&self, method: &str) -> bool {
        self.method() == method
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// An answer with the id of the request.
    fn result(&self, result: &Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.message["id"], "result": result})
    }

    fn error(&self, code: i64, message: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": self.message["id"], "error": {"code": code, "message": message}})
    }
}

impl Server {
    fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                thread::spawn(move || serve(stream, &*answer, &seen));
            }
        });
        let url = url.parse().unwrap();
        Self { url, requests }
    }

    fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.requests()
            .iter()
            .map(|request| request.method().to_owned())
            .collect()
    }

    /// How many calls came.
    fn calls(&self) -> usize {
        self.methods()
            .iter()
            .filter(|method| *method == "tools/call")
            .count()
    }

    fn stage(&self) -> Stage {
        let mut stage = Stage::new("none");
        stage.server.place = ServerPlace::Http(Box::new(Endpoint {
            url: self.url.clone(),
            headers: vec![("X-Key".to_owned(), SECRET.to_owned())],
            token: Token::None,
            ca_file: None,
        }));
        stage.server.protocol = Protocol::Auto;
        stage
    }
}

/// One request per connection.
fn serve(mut stream: TcpStream, answer: &dyn Fn(&Request) -> Reply, seen: &Mutex<Vec<Request>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut words = line.split(' ').map(str::to_owned);
    let (Some(verb), Some(path)) = (words.next(), words.next()) else {
        return;
    };
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let message =
        serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into());
    let request = Request {
        verb,
        path,
        headers,
        message,
    };
    seen.lock().unwrap().push(request.clone());
    let (bytes, stays) = match answer(&request) {
        Reply::Bytes(bytes) => (bytes, false),
        Reply::Silence(bytes) => (bytes, true),
    };
    // A client that has gone is no fault.
    let _ = stream.write_all(&bytes);
    if stays {
        let _ = stream.read(&mut [0]);
    }
}

fn http(status: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let length = body.len().to_string();
    let own = [("Connection", "close"), ("Content-Length", length.as_str())];
    let lines = own.iter().chain(headers);
    let lines: Vec<String> = lines
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let lines = lines.concat();
    Reply::Bytes(format!("HTTP/1.1 {status}\r\n{lines}\r\n{body}").into_bytes())
}

const JSON: (&str, &str) = ("Content-Type", "application/json");
const STREAM: &str =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n";

fn json_reply(body: &Value) -> Reply {
    http("200 OK", &[JSON], &body.to_string())
}

fn event(message: &Value) -> String {
    format!("event: message\r\ndata: {message}\r\n\r\n")
}

fn hello() -> Value {
    json!({"content": [{"type": "text", "text": "hello"}]})
}

/// A good server of 2026-07-28.
fn modern(request: &Request) -> Reply {
    json_reply(&match request.method() {
        "server/discover" => request.result(&json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"
        })),
        "tools/list" => request.result(&json!({
            "tools": [{"name": "echo", "inputSchema": {"type": "object"}}], "resultType": "complete"
        })),
        "tools/call" => request.result(&hello()),
        _ => return http("404 Not Found", &[JSON], &request.error(-32601, "Method not found").to_string()),
    })
}

/// A good server of 2025-11-25 with a session.
fn legacy(request: &Request) -> Reply {
    match request.method() {
        "initialize" => {
            let result = request.result(&json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                "serverInfo": {"name": "old", "version": "1"}
            }));
            http(
                "200 OK",
                &[JSON, ("Mcp-Session-Id", "s-1")],
                &result.to_string(),
            )
        }
        "notifications/initialized" | "notifications/cancelled" | "DELETE" => {
            http("202 Accepted", &[], "")
        }
        _ if request.header("mcp-session-id").is_none() => {
            let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}});
            http("400 Bad Request", &[JSON], &error.to_string())
        }
        "tools/call" => {
            Reply::Bytes((STREAM.to_owned() + &event(&request.result(&hello()))).into_bytes())
        }
        _ => json_reply(&request.error(-32601, "Method not found")),
    }
}

/// The server that treats calls in its own way, and is good otherwise.
fn modern_but(call: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        if request.is("tools/call") {
            call(request)
        } else {
            modern(request)
        }
    })
}

fn legacy_but(call: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        if request.is("tools/call") || request.is("GET") {
            call(request)
        } else {
            legacy(request)
        }
    })
}

/// The kind of the failure, its text, and what is known of the effect.
fn failed(end: CallEnd) -> (Trouble, String, Effect) {
    let effect = end.effect;
    match end.result {
        Err(ref error @ CallError::Http { trouble, .. }) => {
            let text = error.to_string();
            assert!(!text.contains(SECRET), "{text}");
            (trouble, text, effect)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_modern_server_is_asked_without_a_handshake_that_it_would_have_to_remember() {
    let server = Server::start(modern);
    let stage = server.stage();
    let end = stage.run();
    assert_eq!(
        (only_text(&end).as_str(), end.effect),
        ("hello", Effect::Done)
    );
    end.closing.finish();
    assert_eq!(
        server.methods(),
        ["server/discover", "tools/list", "tools/call"]
    );
    let requests = server.requests();
    let call = requests.last().unwrap();
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "echo"),
        ("x-key", SECRET),
    ] {
        assert_eq!(call.header(name), Some(value), "{name}");
    }
    assert_eq!(call.header("mcp-session-id"), None);
}

#[test]
fn a_legacy_server_is_found_by_its_refusal_and_its_session_is_ended() {
    let server = Server::start(legacy);
    let stage = server.stage();
    let end = stage.run();
    assert_eq!(only_text(&end), "hello");
    assert_eq!(end.closing.finish().protocol.as_deref(), Some("2025-11-25"));
    let methods = [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "DELETE",
    ];
    assert_eq!(server.methods(), methods);
    for request in &server.requests()[2..] {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"), "{request:?}");
        if request.verb == "POST" {
            assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
        }
    }
}

#[test]
fn the_era_is_remembered_as_a_hint() {
    let server = Server::start(legacy);
    let mut stage = server.stage();
    stage.server.memory = Some(stage.folder.join("servers"));
    stage.run();
    stage.run();
    let methods = server.methods();
    assert_eq!(
        methods
            .iter()
            .filter(|method| *method == "server/discover")
            .count(),
        1
    );

    // Another server has taken its place.
    let replaced = Server::start(modern);
    let note = stage.folder.join("servers");
    let mut again = replaced.stage();
    again.server.memory = Some(note.clone());
    again.run();
    let name = |stage: &Stage| super::super::memory::Memory::of(&stage.server).recall();
    assert_eq!(
        (name(&stage), name(&again)),
        (Some("2025-11-25"), Some("2026-07-28"))
    );
    assert_eq!(replaced.methods()[0], "server/discover");
}

#[test]
fn each_status_is_its_fault_and_tells_whether_the_call_was_performed() {
    use Trouble::{Absent, Denied, Limited, Lost, Refused, Strange, TooLarge, Unreachable};
    for (status, header, trouble, effect, says) in [
        (
            "401 Unauthorized",
            ("WWW-Authenticate", "Bearer realm=x"),
            Denied,
            Effect::None,
            "Bearer realm=x",
        ),
        ("403 Forbidden", JSON, Denied, Effect::None, "permit"),
        ("404 Not Found", JSON, Absent, Effect::None, "url"),
        ("405 Method Not Allowed", JSON, Absent, Effect::None, "url"),
        ("406 Not Acceptable", JSON, Refused, Effect::None, "406"),
        (
            "413 Payload Too Large",
            JSON,
            TooLarge,
            Effect::None,
            "100 kB",
        ),
        (
            "415 Unsupported Media Type",
            JSON,
            Refused,
            Effect::None,
            "415",
        ),
        (
            "429 Too Many Requests",
            ("Retry-After", "7"),
            Limited,
            Effect::None,
            "retry-after: 7",
        ),
        (
            "500 Internal Server Error",
            JSON,
            Lost,
            Effect::Unknown,
            "may have been performed",
        ),
        (
            "502 Bad Gateway",
            JSON,
            Lost,
            Effect::Unknown,
            "may have been performed",
        ),
        (
            "503 Service Unavailable",
            JSON,
            Lost,
            Effect::Unknown,
            "may have been performed",
        ),
        (
            "503 Service Unavailable",
            ("Retry-After", "9"),
            Unreachable,
            Effect::None,
            "retry-after: 9",
        ),
        ("418 I'm a teapot", JSON, Strange, Effect::Unknown, "418"),
    ] {
        let server = modern_but(move |_| http(status, &[header], "the words of the server"));
        let (kind, text, known) = failed(server.stage().run());
        assert_eq!((kind, known), (trouble, effect), "{status}: {text}");
        assert!(
            text.contains(says) && text.contains("the words of the server"),
            "{text}"
        );
        assert_eq!(server.calls(), 1, "{status}");
    }
}

#[test]
fn a_status_that_comes_while_the_call_is_being_sent_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        let mut unread = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 4000];
            let length = stream.peek(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            if head.contains("mcp-method: tools/call") {
                let refusal = b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 4\r\n\r\nmuch";
                stream.write_all(refusal).unwrap();
                unread.push(stream);
            } else {
                serve(stream, &modern, &Mutex::default());
            }
        }
    });
    let mut stage = Server::start(modern).stage();
    let ServerPlace::Http(endpoint) = &mut stage.server.place else {
        panic!("it has an address")
    };
    endpoint.url = url.parse().unwrap();
    stage.call.arguments = object(json!({"text": "x".repeat(30_000_000)}));
    let (kind, text, effect) = failed(stage.run());
    assert_eq!((kind, effect), (Trouble::TooLarge, Effect::None), "{text}");
}

#[test]
fn an_error_with_the_status_400_was_not_performed() {
    let server = modern_but(|request| {
        http(
            "400 Bad Request",
            &[JSON],
            &request.error(-32602, "no such parameter").to_string(),
        )
    });
    let end = server.stage().run();
    assert_eq!(end.effect, Effect::None);
    assert!(
        matches!(end.result, Err(CallError::Rpc { code: -32602, .. })),
        "{:?}",
        end.result
    );
    // The same with 200 may come after the tool has run.
    let server = modern_but(|request| json_reply(&request.error(-32602, "no such parameter")));
    assert_eq!(server.stage().run().effect, Effect::Done);
}

#[test]
fn what_is_no_answer_is_a_fault_of_the_server() {
    let page = |_: &Request| {
        http(
            "200 OK",
            &[("Content-Type", "text/html; charset=utf-8")],
            "<html>Log in</html>",
        )
    };
    let (kind, text, effect) = failed(modern_but(page).stage().run());
    assert_eq!((kind, effect), (Trouble::Strange, Effect::Unknown));
    assert!(
        text.contains("text/html") && text.contains("login"),
        "{text}"
    );
    // Before the call, nothing was done.
    let (_, _, effect) = failed(Server::start(page).stage().run());
    assert_eq!(effect, Effect::None);

    let (kind, text, effect) = failed(modern_but(|_| http("202 Accepted", &[], "")).stage().run());
    assert_eq!((kind, effect), (Trouble::Strange, Effect::Unknown));
    assert!(text.contains("202"), "{text}");

    for body in ["{\"jsonrpc\": \"2.0\", \"id\": 2, \"resu", "[]", "", "{}"] {
        let server = modern_but(move |_| http("200 OK", &[JSON], body));
        let end = server.stage().run();
        assert_eq!(end.effect, Effect::Unknown, "{body}");
        assert!(
            matches!(end.result, Err(CallError::Malformed { .. })),
            "{body}: {:?}",
            end.result
        );
    }
}

#[test]
fn the_answer_of_another_request_is_not_taken() {
    let other = json!({"jsonrpc": "2.0", "id": 4711, "result": hello()});
    for reply in [
        http("200 OK", &[JSON], &other.to_string()),
        Reply::Bytes((STREAM.to_owned() + &event(&other)).into_bytes()),
    ] {
        let Reply::Bytes(bytes) = reply else {
            panic!("it is closed")
        };
        let server = modern_but(move |_| Reply::Bytes(bytes.clone()));
        let end = server.stage().run();
        assert_eq!(end.effect, Effect::Unknown);
        assert!(
            matches!(
                end.result,
                Err(CallError::Malformed { .. } | CallError::Http { .. })
            ),
            "{:?}",
            end.result
        );
    }
}

#[test]
fn a_call_whose_connection_breaks_is_not_sent_again() {
    for sent in [
        String::new(),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            .to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"
            .to_owned(),
        STREAM.to_owned(),
        STREAM.to_owned() + ": ping\r\n\r\ndata: {\"jsonrpc\"",
    ] {
        let bytes = sent.clone();
        let server = modern_but(move |_| Reply::Bytes(bytes.clone().into_bytes()));
        let (kind, text, effect) = failed(server.stage().run());
        assert_eq!(
            (kind, effect, server.calls()),
            (Trouble::Lost, Effect::Unknown, 1),
            "{sent}: {text}"
        );
        assert!(text.contains("may have been performed"), "{text}");
    }
}

#[test]
fn nobody_at_the_address_is_no_call() {
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let mut stage = Server::start(modern).stage();
    let ServerPlace::Http(endpoint) = &mut stage.server.place else {
        panic!("it has an address")
    };
    endpoint.url = format!("http://{free}/").parse().unwrap();
    let (kind, text, effect) = failed(stage.run());
    assert_eq!((kind, effect), (Trouble::Unreachable, Effect::None));
    assert!(text.contains("refused"), "{text}");
}

#[test]
fn a_silent_server_reaches_the_limit_and_the_connection_is_closed() {
    for (server, methods) in [
        (
            modern_but(|_| Reply::Silence(Vec::new())),
            vec!["server/discover", "tools/list", "tools/call"],
        ),
        (
            legacy_but(|_| Reply::Silence(STREAM.as_bytes().to_vec())),
            vec![
                "server/discover",
                "initialize",
                "notifications/initialized",
                "tools/call",
                "notifications/cancelled",
                "DELETE",
            ],
        ),
    ] {
        let mut stage = server.stage();
        stage.call.idle_timeout = Some(Duration::from_millis(300));
        let end = stage.run();
        assert_eq!(end.effect, Effect::Unknown);
        assert!(
            matches!(
                end.result,
                Err(CallError::TimedOut {
                    limit: Limit::Idle,
                    ..
                })
            ),
            "{:?}",
            end.result
        );
        end.closing.finish();
        assert_eq!(server.methods(), methods);
    }
}

#[test]
fn comments_are_no_progress_and_events_without_end_have_one() {
    let server = modern_but(|_| {
        Reply::Silence((STREAM.to_owned() + &": ping\r\n\r\n".repeat(9)).into_bytes())
    });
    let mut stage = server.stage();
    stage.call.idle_timeout = Some(Duration::from_millis(300));
    assert!(matches!(
        stage.run().result,
        Err(CallError::TimedOut { .. })
    ));

    // One event that does not end.
    let server = modern_but(|_| {
        Reply::Silence((STREAM.to_owned() + "data: " + &"x".repeat(300_000)).into_bytes())
    });
    let mut stage = server.stage();
    stage.server.max_message_bytes = 100_000;
    assert!(matches!(
        stage.run().result,
        Err(CallError::TooBig { limit: 100_000, .. })
    ));

    let server = modern_but(|_| http("200 OK", &[JSON], &"x".repeat(300_000)));
    let mut stage = server.stage();
    stage.server.max_message_bytes = 100_000;
    assert!(matches!(
        stage.run().result,
        Err(CallError::TooBig { limit: 100_000, .. })
    ));
}

#[test]
fn progress_comes_before_the_answer() {
    let server = legacy_but(|request| {
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": request.message["params"]["_meta"]["progressToken"], "progress": 1, "total": 2
        }});
        let text = STREAM.to_owned() + &event(&progress) + &event(&request.result(&hello()));
        Reply::Bytes(text.into_bytes())
    });
    let stage = server.stage();
    let mut seen = Vec::new();
    let host = Host::new(None, None, Interrupts::catch());
    let end = call(&stage.server, &stage.call, &host, &mut |progress| {
        seen.push(progress.done);
    });
    assert_eq!((only_text(&end).as_str(), seen), ("hello", vec![1.0]));
}

#[test]
fn a_redirect_within_the_origin_is_followed_once_and_no_other_gets_the_headers() {
    let server = Server::start(|request| {
        if request.path == "/mcp" {
            return http("307 Temporary Redirect", &[("Location", "/mcp/")], "");
        }
        modern(request)
    });
    assert_eq!(only_text(&server.stage().run()), "hello");
    assert_eq!(
        server.requests().last().unwrap().header("x-key"),
        Some(SECRET)
    );

    let other = Server::start(modern);
    let elsewhere = other.url.to_string();
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let to = elsewhere.clone();
        let server = modern_but(move |_| http(status, &[("Location", &to)], ""));
        let (kind, text, effect) = failed(server.stage().run());
        assert_eq!((kind, effect), (Trouble::Absent, Effect::None));
        assert!(text.contains(&elsewhere), "{text}");
    }
    assert_eq!(other.methods(), Vec::<String>::new());
    // A circle.
    let server = modern_but(|_| http("307 Temporary Redirect", &[("Location", "/mcp")], ""));
    let (kind, _, effect) = failed(server.stage().run());
    assert_eq!(
        (kind, effect, server.calls()),
        (Trouble::Absent, Effect::None, 2)
    );
}

#[test]
fn a_lost_session_is_opened_once_more() {
    let gone = |request: &Request| match request.message["id"].as_i64() {
        // The first session has two requests before the call, and the second one has one.
        Some(_) => http(
            "404 Not Found",
            &[JSON],
            &request.error(-32001, "Session not found").to_string(),
        ),
        None => legacy(request),
    };
    let server = legacy_but(gone);
    let (kind, _, effect) = failed(server.stage().run());
    assert_eq!(
        (kind, effect, server.calls()),
        (Trouble::Gone, Effect::None, 2)
    );
    assert_eq!(
        server
            .methods()
            .iter()
            .filter(|method| *method == "initialize")
            .count(),
        2
    );

    let lost = Mutex::new(false);
    let server = legacy_but(move |request| {
        if std::mem::replace(&mut *lost.lock().unwrap(), true) {
            legacy(request)
        } else {
            gone(request)
        }
    });
    let end = server.stage().run();
    assert_eq!((only_text(&end).as_str(), server.calls()), ("hello", 2));
}

#[test]
fn a_legacy_stream_is_resumed_if_it_has_ids_and_only_then() {
    let resumed = |request: &Request| {
        // After `server/discover` and `initialize`.
        let answer = json!({"jsonrpc": "2.0", "id": 2, "result": hello()});
        match request.header("last-event-id") {
            Some("e-1") => Reply::Bytes((STREAM.to_owned() + &event(&answer)).into_bytes()),
            _ => Reply::Bytes(
                (STREAM.to_owned() + "id: e-1\r\nretry: 5\r\ndata:\r\n\r\n").into_bytes(),
            ),
        }
    };
    let server = legacy_but(resumed);
    assert_eq!(only_text(&server.stage().run()), "hello");
    let requests = server.requests();
    let get = requests
        .iter()
        .find(|request| request.verb == "GET")
        .unwrap();
    assert_eq!(
        (get.header("mcp-session-id"), server.calls()),
        (Some("s-1"), 1)
    );

    let server = legacy_but(|request| match request.header("last-event-id") {
        Some(_) => http("405 Method Not Allowed", &[], ""),
        None => {
            Reply::Bytes((STREAM.to_owned() + "id: e-1\r\nretry: 5\r\ndata:\r\n\r\n").into_bytes())
        }
    });
    let (kind, _, effect) = failed(server.stage().run());
    assert_eq!(
        (kind, effect, server.calls()),
        (Trouble::Lost, Effect::Unknown, 1)
    );
}

/// A server that takes only that token.
fn guarded(token: &'static str) -> Server {
    Server::start(move |request| {
        if request.path == "/token" {
            let body = request.message.as_str().unwrap_or_default();
            assert!(
                body.contains("grant_type=client_credentials") && body.contains("scope=tools"),
                "{body}"
            );
            assert_eq!(
                request.header("authorization"),
                Some("Basic aWQ6aHVudGVyMg==")
            );
            return json_reply(&json!({"access_token": token, "token_type": "Bearer"}));
        }
        if request.header("authorization") == Some(&format!("Bearer {token}")) {
            return modern(request);
        }
        http("401 Unauthorized", &[], "")
    })
}

fn with_token(server: &Server, token: Token) -> Stage {
    let mut stage = server.stage();
    if let ServerPlace::Http(endpoint) = &mut stage.server.place {
        endpoint.token = token;
    }
    stage
}

#[test]
fn a_token_comes_from_where_the_catalog_says() {
    let server = guarded("good-token");
    let folder = TempDir::new().unwrap();
    let file = Utf8PathBuf::from_path_buf(folder.path().join("token")).unwrap();
    fs::write(&file, "good-token\n").unwrap();
    let argv = ["sh", "-c", "echo working >&2; echo good-token; echo more"].map(str::to_owned);
    let path = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    let program = Program::new(argv.to_vec(), file.parent().unwrap().to_owned(), path);
    let client = Token::Client {
        url: server.url.join("/token").unwrap(),
        id: "id".to_owned(),
        secret: SECRET.to_owned(),
        scope: Some("tools".to_owned()),
    };
    for token in [
        Token::Given("good-token".to_owned()),
        Token::File(file),
        Token::Command(program),
        client,
    ] {
        let end = with_token(&server, token).run();
        assert_eq!(only_text(&end), "hello");
        assert_eq!(end.closing.secrets().cut("good-token"), "***");
    }
    let (kind, text, effect) =
        failed(with_token(&server, Token::Given("bad-token".to_owned())).run());
    assert_eq!((kind, effect), (Trouble::Denied, Effect::None));
    assert!(!text.contains("bad-token"), "{text}");
    let missing = Token::File("/no/such/token".into());
    let (kind, text, _) = failed(with_token(&server, missing).run());
    assert!(
        kind == Trouble::Denied && text.contains("/no/such/token"),
        "{text}"
    );
}

#[test]
fn a_token_that_expires_in_the_middle_is_fetched_once_more() {
    let served = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&served);
    let server = Server::start(move |request| {
        if request.path == "/token" {
            let mut served = counted.lock().unwrap();
            *served += 1;
            return json_reply(&json!({"access_token": format!("token-number-{served}")}));
        }
        let wanted = if request.is("tools/call") { 2 } else { 1 };
        if request.header("authorization") == Some(&format!("Bearer token-number-{wanted}")) {
            return modern(request);
        }
        http("401 Unauthorized", &[], "")
    });
    let token = || Token::Client {
        url: server.url.join("/token").unwrap(),
        id: "id".to_owned(),
        secret: SECRET.to_owned(),
        scope: None,
    };
    let end = with_token(&server, token()).run();
    assert_eq!(
        (only_text(&end).as_str(), *served.lock().unwrap()),
        ("hello", 2)
    );
    assert_eq!(end.closing.secrets().cut("token-number-2"), "***");
    // It is renewed once for each message, and not without end.
    *served.lock().unwrap() = 5;
    let (kind, _, _) = failed(with_token(&server, token()).run());
    assert_eq!((kind, *served.lock().unwrap()), (Trouble::Denied, 7));
}

#[test]
fn parameters_that_the_schema_marks_are_repeated_in_headers() {
    let listing = |schema: Value| {
        Server::start(move |request| {
            if request.is("tools/list") {
                return json_reply(
                    &request.result(&json!({"tools": [{"name": "echo", "inputSchema": schema}]})),
                );
            }
            modern(request)
        })
    };
    let server = listing(json!({"type": "object", "properties": {
        "text": {"type": "string", "x-mcp-header": "Text"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
        "none": {"type": "boolean", "x-mcp-header": "None"},
    }}));
    let mut stage = server.stage();
    stage.call.arguments = object(json!({"text": "grün", "deep": {"n": 7}, "none": null}));
    assert_eq!(only_text(&stage.run()), "hello");
    let requests = server.requests();
    let call = requests.last().unwrap();
    assert_eq!(call.header("mcp-param-text"), Some("=?base64?Z3LDvG4=?="));
    assert_eq!(
        (call.header("mcp-param-n"), call.header("mcp-param-none")),
        (Some("7"), None)
    );

    let marked = |mark: Value| json!({"type": "string", "x-mcp-header": mark});
    for properties in [
        json!({"a": marked(json!(""))}),
        json!({"a": marked(json!("a b"))}),
        json!({"a": marked(json!(7))}),
        json!({"a": marked(json!("A")), "b": marked(json!("a"))}),
        json!({"a": {"type": "array", "x-mcp-header": "A"}}),
        json!({"a": {"type": "number", "x-mcp-header": "A"}}),
        json!({"a": {"type": "array", "items": marked(json!("A"))}}),
    ] {
        let server = listing(json!({"type": "object", "properties": properties}));
        let end = server.stage().run();
        assert!(
            matches!(end.result, Err(CallError::Malformed { .. })),
            "{properties}: {:?}",
            end.result
        );
        assert_eq!((end.effect, server.calls()), (Effect::None, 0));
    }
}
