//! Tools on the HTTP transports of the SDKs, on loopback: `tests/servers/sdk/http_*` and `rmcp_http.rs`.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    process::{Child, Command, Stdio},
};

use camino::Utf8Path;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    installed::installed,
    pipelines::{document, path_behind},
    program::{Answer, ONEACT, Root, feed, fresh, signal_child, until},
    sdks::example,
};

/// A server that is killed at the end of a test.
struct Server {
    child: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(sdk: &str) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let place = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/sdk");
        let modules = installed("sdks/node_modules");
        let (program, arguments) = match sdk {
            "py" => (
                installed("sdks_mcp/bin/python"),
                vec!["-B".into(), place.join("http_py.py"), "mcp".into()],
            ),
            "fastmcp" => (
                installed("sdks_fastmcp/bin/python"),
                vec!["-B".into(), place.join("http_py.py"), "fastmcp".into()],
            ),
            "ts1" | "ts2" | "fastmcp_js" => (
                "node".into(),
                vec![place.join(format!("http_{sdk}.mjs")), modules],
            ),
            "rmcp" => (example("rmcp_http"), Vec::new()),
            other => panic!("there is no server {other}"),
        };
        let child = Command::new(program)
            .args(arguments)
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        until("the server listens", || {
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
        Self { child, port }
    }

    /// A root with its tools, each of which may be called twice, or only once.
    fn root(&self, effects: &str) -> Root {
        let port = self.port;
        let mut catalog = vec![format!(
            "catalog = 1\n[server.far]\nurl = \"http://127.0.0.1:{port}/mcp\"\n"
        )];
        let entry = |tool| {
            format!(
                "[capability.{tool}]\nmcp = {{ server = \"far\", tool = \"{tool}\" }}\neffects = {{ {effects} }}\n"
            )
        };
        catalog.extend(["echo", "fails", "slow", "counts", "asks", "dies"].map(entry));
        Root::with_catalog(&catalog.concat())
    }
}

fn task(tool: &str, parameters: &Value, more: &Value) -> Value {
    let mut task = json!({
        "task_id": "task_1", "capability_ids": [tool], "parameters": parameters, "salt": fresh(),
        "metadata": {"session_id": "sess-1", "request_id": fresh()},
    });
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    task
}

fn asked(root: &Root, tool: &str, parameters: &Value) -> Answer {
    root.run(&task(tool, parameters, &json!({})))
}

fn effect(answer: &Answer) -> &Value {
    answer.at("/output/content/oneact/effect")
}

fn text_of(answer: &Answer) -> &Value {
    let data = answer.result_data();
    data.get("text").or(data.get("result")).unwrap_or(data)
}

/// A call, a failure, progress, a cancellation and a server that ends in the middle.
fn holds_for(sdk: &str, era: &str) {
    let mut server = Server::start(sdk);
    let root = server.root("read_only = true");
    // The first run finds out the era, and the second one remembers it.
    for _ in 0..2 {
        let answer = asked(&root, "echo", &json!({"text": "hello"}));
        assert_eq!(
            (answer.exit, text_of(&answer)),
            (0, &json!("hello")),
            "{}",
            answer.envelope
        );
        assert_eq!(answer.at("/output/content/oneact/server/protocol"), era);
    }
    let answer = asked(&root, "fails", &json!({}));
    assert_eq!(
        (answer.fault(), effect(&answer)),
        (&json!("tool_error"), &json!("done"))
    );
    let told = answer.at("/error/error_message").as_str().unwrap();
    assert!(told.contains("the account is closed"), "{told}");

    let mut command = root.command();
    command.args(["--progress", "jsonl"]);
    let answer = crate::program::run(
        command,
        task("counts", &json!({}), &json!({}))
            .to_string()
            .as_bytes(),
    );
    assert_eq!(text_of(&answer), &json!("counted"));
    assert!(answer.stderr.contains("\"done\":2"), "{}", answer.stderr);

    let file = root.path.join("slow");
    let mut run = root.command();
    run.stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut run = run.spawn().unwrap();
    feed(
        &mut run,
        &task("slow", &json!({"file": file.as_str()}), &json!({})),
    );
    until("the tool has started", || {
        fs::read_to_string(&file)
            .ok()
            .filter(|text| text == "started")
    });
    signal_child(&run, Signal::INT);
    let answer = Answer::of(run.wait_with_output().unwrap());
    assert_eq!(
        (answer.fault(), effect(&answer)),
        (&json!("cancelled"), &json!("unknown"))
    );
    until("the server knows it", || {
        fs::read_to_string(&file)
            .ok()
            .filter(|text| text == "cancelled")
    });

    let answer = asked(&root, "dies", &json!({}));
    assert_eq!(
        (answer.fault(), effect(&answer)),
        (&json!("server_unreachable"), &json!("unknown"))
    );
    assert_eq!(answer.at("/error/recoverable"), true);
    server.child.wait().unwrap();
    let answer = asked(&root, "echo", &json!({"text": "hello"}));
    assert_eq!(
        (answer.fault(), effect(&answer)),
        (&json!("server_unreachable"), &json!("none"))
    );

    // A call that must not happen twice is not sent again, and a person has to look.
    let server = Server::start(sdk);
    let answer = asked(&server.root("read_only = false"), "dies", &json!({}));
    assert_eq!(effect(&answer), &json!("unknown"));
    assert_eq!(
        answer.at("/error/recoverable"),
        false,
        "{}",
        answer.envelope
    );
}

/// A tool that asks, and is answered by another run.
fn answers_for(sdk: &str) {
    let server = Server::start(sdk);
    let root = server.root("read_only = true");
    let accepts = json!({"accepts_input": true});
    let waiting = root.run(&task("asks", &json!({}), &accepts));
    assert_eq!(waiting.state(), "pending", "{}", waiting.envelope);
    let waiting = waiting.at("/output/content/oneact/waiting");
    let questions = waiting["input_requests"].as_object().unwrap();
    let yes = json!({"action": "accept", "content": {"ok": true}});
    let answers: Value = questions
        .keys()
        .map(|name| (name.clone(), yes.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut more = json!({
        "accepts_input": true, "input_requests": waiting["input_requests"], "input_responses": answers,
    });
    if !waiting["request_state"].is_null() {
        more["request_state"] = waiting["request_state"].clone();
    }
    let answer = root.run(&task("asks", &json!({}), &more));
    let said = text_of(&answer).as_str().unwrap_or_default().to_lowercase();
    assert_eq!(
        (answer.exit, said.as_str()),
        (0, "answered true"),
        "{}",
        answer.envelope
    );
}

#[test]
fn python() {
    holds_for("py", "2026-07-28");
    answers_for("py");
}

#[test]
fn fastmcp_of_python() {
    holds_for("fastmcp", "2026-07-28");
}

#[test]
fn the_first_typescript() {
    holds_for("ts1", "2025-11-25");
}

#[test]
fn the_second_typescript() {
    holds_for("ts2", "2026-07-28");
    answers_for("ts2");
}

#[test]
fn fastmcp_of_javascript() {
    holds_for("fastmcp_js", "2025-11-25");
}

#[test]
fn rmcp() {
    holds_for("rmcp", "2026-07-28");
    answers_for("rmcp");
}

#[test]
fn the_page_works_as_pasted() {
    let page = document("docs/remote.md");
    let (_, rest) = page.split_once("```sh\n").unwrap();
    let (script, _) = rest.split_once("```").unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    let told = Command::new("sh")
        .args(["-euc", script])
        .current_dir(dir.path())
        .env("PATH", path_behind(Utf8Path::new(ONEACT).parent().unwrap()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        said.trim_end().ends_with("{\"text\":\"42\"}"),
        "{said}{}",
        String::from_utf8_lossy(&told.stderr)
    );
    for place in walk(Utf8Path::from_path(dir.path()).unwrap()) {
        let bytes = fs::read(&place).unwrap();
        let found = bytes.windows(17).any(|part| part == b"my-own-token-4711");
        assert!(
            !found || place.ends_with("server.py"),
            "the token is in {place}"
        );
    }
}

fn walk(dir: &Utf8Path) -> Vec<camino::Utf8PathBuf> {
    let mut found = Vec::new();
    for entry in dir.read_dir_utf8().unwrap() {
        let path = entry.unwrap().into_path();
        if path.is_dir() {
            found.extend(walk(&path));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

#[test]
fn an_address_is_shown_without_its_secrets_and_a_dry_run_asks_nobody() {
    let root = Root::with_catalog(
        "catalog = 1\n[server.far]\nurl = \"http://127.0.0.1:9/mcp?token=hunter2-x&v=1\"\nbearer_command = [\"no-such-program\"]\n\
         headers = { X-Key = \"hunter2-y\" }\n[capability.echo]\nmcp = { server = \"far\", tool = \"echo\" }\n",
    );
    let mut command = root.command();
    command.arg("--dry-run");
    let asked = task("echo", &json!({}), &json!({}));
    let answer = crate::program::run(command, asked.to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let step = answer.at("/output/content/oneact/plan/steps/0");
    assert_eq!(
        (&step["url"], &step["command"]),
        (&json!("http://127.0.0.1:9/mcp?v=1"), &json!([]))
    );
    let said = answer.envelope.to_string();
    assert!(!said.contains("hunter2"), "{said}");
    // The program is asked by a run.
    let answer = root.run(&asked);
    assert_eq!(
        (answer.fault(), effect(&answer)),
        (&json!("permission_denied"), &json!("none"))
    );
    let said = answer.envelope.to_string() + &answer.stderr;
    assert!(
        said.contains("bearer_command") && !said.contains("hunter2"),
        "{said}"
    );
}

#[test]
fn nothing_on_this_machine_is_asked_through_a_proxy() {
    let listener = || TcpListener::bind("127.0.0.1:0").unwrap();
    // Who connects waits for an answer in vain.
    let (proxy, server, token) = (listener(), listener(), listener());
    let at = |listener: &TcpListener| listener.local_addr().unwrap().to_string();
    let connections = |listener: &TcpListener| {
        listener.set_nonblocking(true).unwrap();
        std::iter::from_fn(|| listener.accept().ok()).count()
    };
    let oauth = format!(
        "oauth = {{ token_url = \"http://{}/token\", client_id = \"x\", client_secret_env = \"FAR_SECRET\" }}\n",
        at(&token)
    );
    for (url, more) in [
        (format!("https://{}/mcp", at(&server)), ""),
        ("https://far.invalid/mcp".to_owned(), oauth.as_str()),
    ] {
        let root = Root::with_catalog(&format!(
            "catalog = 1\n[server.far]\nurl = \"{url}\"\nprotocol = \"modern\"\nstartup_timeout = \"1s\"\n{more}\
             [capability.echo]\nmcp = {{ server = \"far\", tool = \"echo\" }}\n"
        ));
        let mut command = root.command();
        command.env("FAR_SECRET", "hunter2-secret");
        for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"] {
            command.env(name, format!("http://{}", at(&proxy)));
        }
        let asked = task("echo", &json!({}), &json!({}));
        let answer = crate::program::run(command, asked.to_string().as_bytes());
        assert_eq!(effect(&answer), &json!("none"), "{}", answer.envelope);
    }
    assert_eq!(
        (
            connections(&proxy),
            connections(&server),
            connections(&token)
        ),
        (0, 1, 1)
    );
}

#[test]
fn a_server_is_imported_from_its_address_and_its_token_is_not_written() {
    let server = Server::start("ts2");
    let root = Root::with_catalog("catalog = 1\n");
    let url = format!("http://127.0.0.1:{}/mcp", server.port);
    let servers = json!({"mcpServers": {"far": {"type": "http", "url": url, "headers": {"Authorization": "Bearer hunter2-token"}}}});
    fs::write(root.path.join(".mcp.json"), servers.to_string()).unwrap();
    let mut command = root.command();
    command.args(["import", ".mcp.json"]);
    let output = command.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(
        output.status.success() && said.contains("export FAR_TOKEN=…"),
        "{said}"
    );
    let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    assert!(
        catalog.contains("bearer_env = \"FAR_TOKEN\"") && !(catalog + &said).contains("hunter2")
    );
    let mut command = root.command();
    command
        .args(["doctor", "--json"])
        .env("FAR_TOKEN", "hunter2-token");
    let output = command.output().unwrap();
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&seen["verdict"], &seen["servers"][0]["url"]),
        (&json!("well"), &json!(url)),
        "{seen}"
    );
    assert!(!seen.to_string().contains("hunter2"));
}
