//! Calls on a real process: `tests/servers/misbehaving.py`, one mode per fault.

mod answers;
mod ends;
mod handshakes;
mod limits;
mod memory;
mod output;
mod pins;
mod processes;
mod questions;
mod remote;

use std::{fs, path::Path, process::Command, thread, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::{
    host::{Host, Interrupts, Program},
    task::{
        Effect, Hazards, OnDrift, OutputSchema, Phase, Protocol, RiskRule, Secrets, Timings, When,
    },
};

use super::{
    error::Limit,
    report::{ExitDescription, Noise},
    spec::Progress,
    *,
};

/// Far more than anything here takes, and still an end.
const PATIENCE: Duration = Duration::from_secs(30);
const SECRET: &str = "hunter2";

/// A call on the server of one mode, with everything it leaves in a folder of its own.
struct Stage {
    folder: Utf8PathBuf,
    server: ServerSpec,
    call: ToolCall,
    _kept: Option<TempDir>,
}

impl Stage {
    fn new(mode: &str) -> Self {
        let kept = TempDir::new().unwrap();
        let folder = Utf8PathBuf::from_path_buf(kept.path().to_owned()).unwrap();
        Self {
            _kept: Some(kept),
            ..Self::within(mode, &folder)
        }
    }

    fn within(mode: &str, folder: &Utf8Path) -> Self {
        let script = format!(
            "{}/tests/servers/misbehaving.py",
            env!("CARGO_MANIFEST_DIR")
        );
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            server: ServerSpec {
                name: "misbehaving".to_owned(),
                place: ServerPlace::Process(Program::new(
                    vec!["python3".to_owned(), script, mode.to_owned()],
                    folder.to_owned(),
                    vec![
                        variable("PATH", "/usr/local/bin:/usr/bin:/bin"),
                        variable("RECEIVED", folder.join("received").as_str()),
                        variable("PIDS", folder.join("pids").as_str()),
                    ],
                )),
                secrets: Secrets::new([SECRET.to_owned()]),
                protocol: Protocol::Legacy,
                memory: None,
                caller: Caller::Silent,
                startup_timeout: PATIENCE,
                shutdown_grace: PATIENCE,
                max_message_bytes: ServerSpec::MAX_MESSAGE_BYTES,
                warm: None,
            },
            call: ToolCall {
                tool: "echo".to_owned(),
                arguments: object(json!({"text": "hello"})),
                idle_timeout: None,
                total_timeout: PATIENCE,
                budget: None,
                check_arguments: ArgumentCheck::Done,
                pinned: None,
                output_schema: OutputSchema::IfListed,
                risk: RiskRule {
                    hazards: Hazards::default(),
                    when: When::Never,
                },
                resumption: None,
                trace: None,
            },
            folder: folder.to_owned(),
            _kept: None,
        }
    }

    fn program(&mut self) -> &mut Program {
        match &mut self.server.place {
            ServerPlace::Process(program) => program,
            ServerPlace::Http(endpoint) => panic!("{endpoint:?} is not started"),
        }
    }

    fn checked(mut self) -> Self {
        self.call.check_arguments = ArgumentCheck::AgainstServer;
        self
    }

    fn speaking(mut self, protocol: Protocol) -> Self {
        self.server.protocol = protocol;
        self
    }

    fn graceless(mut self) -> Self {
        self.server.shutdown_grace = Duration::from_millis(100);
        self
    }

    fn run(&self) -> CallEnd {
        call(
            &self.server,
            &self.call,
            &Host::new(None, None, Interrupts::catch()),
            &mut |_| (),
        )
    }

    /// What the server got, line by line.
    fn received(&self) -> Vec<Value> {
        let lines = fs::read_to_string(self.folder.join("received")).unwrap_or_default();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn methods(&self) -> Vec<String> {
        self.received()
            .iter()
            .filter_map(|line| Some(line.get("method")?.as_str()?.to_owned()))
            .collect()
    }

    /// Name and id of every process the server told of.
    fn processes(&self) -> Vec<(String, i32)> {
        let lines = fs::read_to_string(self.folder.join("pids")).unwrap_or_default();
        lines
            .lines()
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, pid)| (name.to_owned(), pid.parse().unwrap()))
            .collect()
    }

    fn assert_nobody_left(&self, expected: &[&str]) {
        let processes = self.processes();
        assert_eq!(
            processes
                .iter()
                .map(|(name, _)| name.as_str())
                .collect::<Vec<_>>(),
            expected
        );
        for (name, pid) in processes {
            assert!(
                !Path::new(&format!("/proc/{pid}")).exists(),
                "{name} ({pid}) is still there"
            );
        }
    }
}

/// Calls a tool on a server of its own.
fn call(
    server: &ServerSpec,
    call: &ToolCall,
    host: &Host,
    progress: &mut dyn FnMut(Progress),
) -> CallEnd {
    let mut tell = |news| {
        if let News::Progress(seen) = news {
            progress(seen);
        }
    };
    call_among(&mut Vec::new(), After::End, server, call, host, &mut tell)
}

fn structured(answer: &ToolAnswer) -> Option<Value> {
    let raw = answer.structured.as_ref()?;
    Some(raw.value().unwrap())
}

/// The text of an answer's only block.
fn only_text(end: &CallEnd) -> String {
    let [block] = end.result.as_ref().unwrap().content.as_slice() else {
        panic!("not one block: {:?}", end.result)
    };
    match block.read() {
        Content::Text(text) => text,
        other => panic!("not a text: {other:?}"),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

/// Waits for something another process does.
fn until(happened: impl Fn() -> bool) {
    for _ in 0..3000 {
        if happened() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it never happened");
}

/// Runs `mode` in a process of its own, as oneact would: one call, from the first thread.
fn client(mode: &str, folder: &Utf8Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "mcp::tests::the_client_of_other_tests",
            "--test-threads=1",
            "--quiet",
        ])
        .env("ONEACT_TEST_MODE", mode)
        .env("ONEACT_TEST_FOLDER", folder)
        .stdout(std::process::Stdio::null());
    command
}

/// Does nothing unless another test runs it; that one looks at what it writes.
#[test]
fn the_client_of_other_tests() {
    let (Some(mode), Some(folder)) = (
        crate::host::variable("ONEACT_TEST_MODE"),
        crate::host::variable("ONEACT_TEST_FOLDER"),
    ) else {
        return;
    };
    let mut stage = Stage::within(&mode, Utf8Path::new(&folder)).graceless();
    if mode.starts_with("schema:") || mode.starts_with("typed:") {
        stage = stage.checked();
    }
    let end = stage.run();
    let (result, effect) = (
        format!("{:?} {:?}", end.result, end.course.output),
        end.effect,
    );
    let report = end.closing.finish();
    fs::write(
        stage.folder.join("outcome"),
        format!("{effect:?} {result} {report:?}"),
    )
    .unwrap();
}
