//! `oneact serve catalog --http`: who may speak, and whose session a call belongs to.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    process::Child,
    thread,
    time::Duration,
};

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use crate::program::{Root, told_on_failure, until};

const CATALOG: &str = r#"
catalog = 1
[server.warmth]
command = ["python3", "-SB", "servers/warmth.py"]
[capability.say]
is_action = true
description = "Says it."
effects = { read_only = false, idempotent = false, destructive = false }
mcp = { server = "warmth", tool = "say" }
parameter_schema_for_action = { type = "object" }
result = { kind = "metadata" }
"#;

struct Served {
    root: Root,
    child: Child,
    /// `127.0.0.1:PORT`
    address: String,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(flags: &[&str]) -> Served {
    let root = Root::with_catalog(CATALOG);
    fs::write(root.path.join("token"), "a-token-of-the-operator\n").unwrap();
    chmod(&root.path.join("token"), 0o600);
    let mut command = root.command();
    command.args(["serve", "catalog", "--http", "127.0.0.1:0"]);
    let mut child = command.args(flags).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut told = String::new();
    stderr.read_line(&mut told).unwrap();
    told_on_failure(stderr);
    let address = told.trim().rsplit_once("http://").unwrap().1;
    let address = address.strip_suffix("/mcp").unwrap().to_owned();
    Served {
        root,
        child,
        address,
    }
}

fn chmod(path: &Utf8PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        stream
    }

    fn write(&self, stream: &mut TcpStream, headers: &[(&str, &str)], body: &str) {
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .unwrap();
    }

    /// The whole answer to a POST, with its head.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> String {
        let mut stream = self.connect();
        self.write(&mut stream, headers, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Begins a session of 2025-11-25, and returns its id.
    fn session(&self) -> String {
        let id = self.begin();
        self.initialized(&id);
        id
    }

    fn begin(&self) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let answer = self.post(&[], &request(0, "initialize", &params));
        let id = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            let is_id = name.eq_ignore_ascii_case("mcp-session-id");
            is_id.then(|| value.trim().to_owned())
        });
        id.unwrap_or_else(|| panic!("no session: {answer}"))
    }

    fn initialized(&self, id: &str) {
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.post(&[("Mcp-Session-Id", id)], &ready.to_string());
    }

    /// A call in a session. The answer is the event with its result.
    fn call(&self, session: &str, id: u64, arguments: &Value) -> Value {
        result(&self.post(&[("Mcp-Session-Id", session)], &call(id, arguments)))
    }

    /// A call of 2026-07-28.
    fn modern(&self, id: u64, arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": "say", "arguments": arguments, "_meta": meta});
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "say"),
        ];
        result(&self.post(&headers, &request(id, "tools/call", &params)))
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.root.path.join("starts.calls"));
        calls
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn call(id: u64, arguments: &Value) -> String {
    request(
        id,
        "tools/call",
        &json!({"name": "say", "arguments": arguments}),
    )
}

/// The result or error of the last message of an answer, of a stream or of JSON.
fn result(answer: &str) -> Value {
    let messages = answer.lines().filter_map(|line| {
        let text = line.strip_prefix("data: ").unwrap_or(line);
        let message: Value = serde_json::from_str(text).ok()?;
        message.get("result").or(message.get("error")).cloned()
    });
    messages
        .reduce(|_, last| last)
        .unwrap_or_else(|| panic!("no result: {answer}"))
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap()
}

#[test]
fn a_call_is_performed_and_recorded_in_both_eras() {
    let served = serve(&[]);
    let session = served.session();
    let said = served.call(&session, 1, &json!({"say": "legacy"}));
    assert_eq!(said["structuredContent"]["say"], "legacy");
    let said = served.modern(1, &json!({"say": "modern"}));
    assert_eq!(said["structuredContent"]["say"], "modern");
    assert_eq!(served.calls(), ["legacy", "modern"]);
    let mut command = served.root.command();
    let output = command.args(["history", "--all"]).output().unwrap();
    let history = String::from_utf8(output.stdout).unwrap();
    assert!(history.matches("say").count() >= 2, "{history}");
}

/// Two clients that count their requests from 1 are not taken for each other, and neither gets the other's answer.
#[test]
fn each_session_of_mcp_has_a_session_of_its_own() {
    let served = serve(&[]);
    let sessions = [served.session(), served.session()];
    for session in &sessions {
        let said = served.call(session, 1, &json!({"say": "same"}));
        assert_eq!(said["structuredContent"]["say"], "same");
    }
    assert_eq!(served.calls(), ["same", "same"]);
    // In one session, the same call is not performed again.
    let again = served.call(&sessions[0], 2, &json!({"say": "same"}));
    assert_eq!(again["_meta"]["oneact/state"], "suppressed");
    assert_eq!(served.calls().len(), 2);
}

/// The session begins with `initialize`, not only when the client says that it is initialized.
#[test]
fn a_call_before_the_client_is_initialized_belongs_to_its_session() {
    let served = serve(&[]);
    let session = served.begin();
    served.call(&session, 1, &json!({"say": "once"}));
    served.initialized(&session);
    let again = served.call(&session, 2, &json!({"say": "once"}));
    assert_eq!(again["_meta"]["oneact/state"], "suppressed");
    assert_eq!(served.calls(), ["once"]);
}

#[test]
fn an_integer_that_http_cannot_carry_is_refused() {
    let served = serve(&[]);
    let session = served.session();
    let large = "123456789012345678901234567890";
    let body = call(1, &json!({"say": 0})).replace(":0}", &format!(":{large}}}"));
    let answer = served.post(&[("Mcp-Session-Id", &session)], &body);
    assert!(answer.contains("more than 64 bits"), "{answer}");
}

#[test]
fn a_token_is_asked_for_in_every_request() {
    let served = serve(&["--token-file", "token"]);
    let list = request(1, "tools/list", &json!({}));
    for headers in [
        &[][..],
        &[("Authorization", "Bearer another-token-of-16")],
        &[("Authorization", "Basic a-token-of-the-operator")],
    ] {
        let answer = served.post(headers, &list);
        assert_eq!(status(&answer), "401", "{answer}");
        assert!(answer.to_lowercase().contains("www-authenticate: bearer"));
        assert!(!answer.contains("a-token-of-the-operator"));
    }
    let token = ("Authorization", "bearer a-token-of-the-operator");
    assert_ne!(status(&served.post(&[token], &list)), "401");
}

#[test]
fn an_address_that_others_reach_needs_a_token_that_others_cannot_read() {
    let root = Root::with_catalog(CATALOG);
    let token = root.path.join("token");
    let refused = |flags: &[&str]| {
        let mut command = root.command();
        command.args(["serve", "catalog", "--http", "0.0.0.0:0"]);
        let output = command.args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(refused(&[]).contains("--token-file"));
    fs::write(&token, "a-token-of-the-operator").unwrap();
    chmod(&token, 0o644);
    assert!(refused(&["--token-file", "token"]).contains("chmod 600"));
    fs::write(&token, "short").unwrap();
    chmod(&token, 0o600);
    assert!(refused(&["--token-file", "token"]).contains("16"));
}

#[test]
fn what_is_no_message_is_refused_as_json() {
    let served = serve(&[]);
    for (body, expected) in [
        ("{\"jsonrpc\"", "400"),
        ("[]", "400"),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "400"),
    ] {
        let answer = served.post(&[], body);
        assert_eq!(status(&answer), expected, "{answer}");
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let error: Value = serde_json::from_str(body).unwrap();
        assert!(error["error"]["message"].is_string(), "{answer}");
    }
    let answer = served.post(
        &[("Mcp-Session-Id", "another")],
        &request(1, "ping", &json!({})),
    );
    assert_eq!(status(&answer), "404", "{answer}");
}

/// In a session, a client that breaks off is not one that cancels: it can read the answer later.
#[test]
fn a_call_whose_client_breaks_off_is_performed_and_its_answer_is_kept() {
    let served = serve(&[]);
    let session = served.session();
    let mut stream = served.connect();
    let arguments = json!({"say": "long", "sleep": 1});
    served.write(
        &mut stream,
        &[("Mcp-Session-Id", &session)],
        &call(1, &arguments),
    );
    until("the call arrives", || {
        (!served.calls().is_empty()).then_some(())
    });
    drop(stream);
    thread::sleep(Duration::from_millis(1500));
    let again = served.call(&session, 2, &arguments);
    assert_eq!(again["structuredContent"]["say"], "long", "{again}");
    assert_eq!(served.calls(), ["long"]);
}
