//! A client of `oneact serve catalog`, which can also do what no client should.

use std::{
    collections::VecDeque,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::program::{Root, told_on_failure, until};

/// How long the server may be silent before a test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);

/// A once-only call that lasts as long as told, the same for persons alone and for programs alone, and calls that read
/// or make assets.
pub(crate) const CATALOG: &str = r#"
catalog = 1

[server.counter]
command = ["python3", "-SB", "servers/counter.py", "counted"]

[server.media]
command = ["python3", "-SB", "servers/toolbox.py"]

[capability.happen]
is_action = true
name = "Happen"
description = "Count once."
mcp = { server = "counter", tool = "happen" }
effects = { destructive = false, idempotent = false, open_world = false }
parameter_schema_for_action = { type = "object", additionalProperties = false, properties = { what = { type = "string" }, seconds = { type = "number" } } }

[capability.for_persons]
is_action = true
available_in = ["USER_INVOCATION", "ACTION_PROPOSAL"]
description = "Count for a person."
mcp = { server = "counter", tool = "happen" }
parameter_schema_for_action = { type = "object" }

[capability.for_programs]
mcp = { server = "counter", tool = "happen" }

[capability.convert]
is_action = true
description = "Convert a file."
effects = { idempotent = true, destructive = false, open_world = false }
defaults = { target_format = "wav" }
mcp = { server = "media", tool = "format_converter" }
bind = { input_uri = "input.uri", output_path = "output.path" }
result = { kind = "asset", asset_type = "audio_track", format = "wav" }
parameter_schema_for_action = { type = "object", required = ["input_uri", "output_path"], properties = { input_uri = { type = "string" }, target_format = { enum = ["wav", "flac"] }, output_path = { type = "string" } } }

[capability.transcribe]
is_action = true
description = "Write down what is said."
effects = { read_only = true }
mcp = { server = "media", tool = "transcriber" }
bind = { audio_uri = "input.uri" }
parameter_schema_for_action = { type = "object", required = ["audio_uri"], properties = { audio_uri = { type = "string" } } }
"#;

pub(crate) struct Client {
    pub(crate) server: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// What was heard while something else was waited for.
    heard: VecDeque<Value>,
    id: u64,
}

impl Client {
    /// A server in that root, before any message.
    pub(crate) fn silent(root: &Root, arguments: &[&str]) -> Self {
        let mut command = root.command();
        command.args(["serve", "catalog"]).args(arguments);
        let mut server = command.spawn().unwrap();
        told_on_failure(server.stderr.take().unwrap());
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let (tell, messages) = channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message: Value = serde_json::from_str(&line).expect("every line is a message");
                assert_eq!(message["jsonrpc"], "2.0");
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Self {
            stdin: server.stdin.take(),
            server,
            messages,
            heard: VecDeque::new(),
            id: 0,
        }
    }

    /// A client after the handshake of 2025-11-25.
    pub(crate) fn legacy(root: &Root, arguments: &[&str]) -> Self {
        Self::able(root, arguments, &json!({}))
    }

    /// The same with these capabilities.
    pub(crate) fn able(root: &Root, arguments: &[&str], capabilities: &Value) -> Self {
        let mut client = Self::silent(root, arguments);
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}});
        let answer = client.ask("initialize", &about);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        client.tell(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn tell(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    pub(crate) fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// The first message that is so. The others stay.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&wanted) {
            return self.heard.remove(at).unwrap();
        }
        loop {
            let message = self
                .messages
                .recv_timeout(PATIENCE)
                .expect("the server answers");
            if wanted(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value, meta: &Value) -> Value {
        let answer = self.ask(
            "tools/call",
            &json!({"name": tool, "arguments": arguments, "_meta": meta}),
        );
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    /// Sends a call that has happened and does not end by itself.
    pub(crate) fn hang(&mut self, root: &Root, meta: &Value) -> u64 {
        let before = happened(root);
        let id = self.send("tools/call", &json!({"name": "happen", "arguments": {"what": "hangs", "seconds": 100}, "_meta": meta}));
        until("the tool is called", || {
            (happened(root) > before).then_some(())
        });
        id
    }

    /// Closes stdin, and waits for the end of the server.
    pub(crate) fn leave(mut self) {
        self.stdin = None;
        assert!(self.server.wait().unwrap().success());
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        let _ = self.server.wait();
    }
}

pub(crate) fn happened(root: &Root) -> usize {
    fs::read_to_string(root.path.join("counted"))
        .unwrap_or_default()
        .lines()
        .count()
}

/// What the modern era wants in each request, with anything else.
pub(crate) fn modern(params: Value) -> Value {
    let mut params = params;
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "t", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// No process of this root remains.
pub(crate) fn until_nothing_runs(root: &Root) {
    until("nothing runs any more", || {
        root.processes().is_empty().then_some(())
    });
}
