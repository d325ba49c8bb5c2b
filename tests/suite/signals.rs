//! What a run tells while it works (`--progress`), the traces that it hands on, and what it sends to a collector.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    process::Child,
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    otlp,
    program::{self, Answer, Root, feed},
    serving_client::Client,
};

const CATALOG: &str = r#"
catalog = 1
[server.traced]
command = ["python3", "-SB", "servers/traced.py"]
[server.gated]
command = ["python3", "-SB", "servers/traced.py", "gate"]
[server.kept]
command = ["python3", "-SB", "servers/traced.py"]
keep_alive = true
[capability.meta]
is_action = true
description = "Tell what the call carries."
effects = { read_only = true }
mcp = { server = "traced", tool = "meta" }
[capability.kept]
is_action = true
description = "Tell what the call carries."
effects = { read_only = true }
mcp = { server = "kept", tool = "meta" }
[capability.fails]
effects = { read_only = true }
mcp = { server = "traced", tool = "fails" }
[capability.waits]
effects = { read_only = true }
mcp = { server = "gated", tool = "waits" }
"#;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn task(capability: &str, metadata: &Value) -> Value {
    json!({
        "dispatch": {"task_id": "t", "capability_ids": [capability], "attempt": 1, "salt": program::fresh()},
        "metadata": metadata,
    })
}

fn meta(answer: &Answer) -> &Value {
    &answer.result_data()["meta"]
}

fn run(root: &Root, variables: &[(&str, &str)], task: &Value) -> Answer {
    let mut command = root.command();
    command.envs(variables.iter().copied());
    program::run(command, task.to_string().as_bytes())
}

fn notes(answer: &Answer) -> &str {
    answer.at("/audit/compliance_notes").as_str().unwrap()
}

#[test]
fn a_trace_of_the_environment_reaches_the_tool_unchanged() {
    let root = Root::with_catalog(CATALOG);
    let variables = [("TRACEPARENT", PARENT), ("TRACESTATE", "congo=t61rcWkgMzE")];
    let answer = run(&root, &variables, &task("meta", &json!({})));
    assert_eq!(meta(&answer)["traceparent"], PARENT);
    assert_eq!(meta(&answer)["tracestate"], "congo=t61rcWkgMzE");
    assert!(!notes(&answer).contains("trace"), "{}", notes(&answer));
    let none = run(&root, &[], &task("meta", &json!({})));
    let keys: Vec<&String> = meta(&none).as_object().unwrap().keys().collect();
    assert_eq!(keys, ["progressToken"]);
}

#[test]
fn the_trace_of_the_task_comes_first_and_an_invalid_one_is_noted() {
    let root = Root::with_catalog(CATALOG);
    let own = PARENT.replace("00f067aa", "ffffffff");
    let of_task = task("meta", &json!({"traceparent": own}));
    let answer = run(&root, &[("TRACEPARENT", PARENT)], &of_task);
    assert_eq!(meta(&answer)["traceparent"], own);
    let invalid = task("meta", &json!({"traceparent": 7}));
    let answer = run(&root, &[("TRACEPARENT", PARENT)], &invalid);
    assert_eq!(meta(&answer)["traceparent"], PARENT);
    assert!(notes(&answer).contains("`traceparent` is ignored"));
    let answer = run(&root, &[("TRACEPARENT", "00-1")], &task("meta", &json!({})));
    assert_eq!((answer.exit, meta(&answer).get("traceparent")), (0, None));
    assert!(notes(&answer).contains("`traceparent` is ignored"));
}

#[test]
fn a_trace_changes_nothing_that_the_ledger_knows_of_a_request() {
    let root = Root::with_catalog(CATALOG);
    let mut first = task("meta", &json!({"session_id": "s", "request_id": "1"}));
    let answer = run(&root, &[], &first);
    first["metadata"] = json!({"session_id": "s", "request_id": "2", "traceparent": PARENT});
    let again = run(&root, &[], &first);
    let hash = "/output/content/oneact/request_hash";
    assert_eq!(answer.at(hash), again.at(hash));
}

#[test]
fn the_trace_of_a_client_reaches_the_tool_through_serve_catalog() {
    let root = Root::with_catalog(CATALOG);
    let mut client = Client::legacy(&root, &[]);
    for tool in ["meta", "kept"] {
        let carried = json!({"traceparent": PARENT, "tracestate": "a=b"});
        let result = client.call(tool, &json!({}), &carried);
        let seen = result.to_string();
        assert!(seen.contains(PARENT) && seen.contains("a=b"), "{seen}");
    }
    client.leave();
}

/// The path, the headers and the body of a request.
type Posted = (String, BTreeMap<String, String>, Vec<u8>);

/// A collector, which answers each request with this status, and what it receives.
fn collector(status: &'static str) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, received) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let tell = tell.clone();
            thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                let mut line = || {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    line.trim_end().to_owned()
                };
                let path = line().split(' ').nth(1).unwrap().to_owned();
                let mut headers = BTreeMap::new();
                while let Some((name, value)) = line().split_once(": ") {
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                let mut body = vec![0; headers["content-length"].parse().unwrap()];
                reader.read_exact(&mut body).unwrap();
                let answer =
                    format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                reader.into_inner().write_all(answer.as_bytes()).unwrap();
                // The test may be over.
                let _ = tell.send((path, headers, body));
            });
        }
    });
    (url, received)
}

/// Both requests of a run, which were received before it ended.
fn documents(received: &Receiver<Posted>) -> BTreeMap<String, Value> {
    let two = (0..2).map(|_| received.recv_timeout(Duration::from_secs(30)).unwrap());
    two.map(|(path, headers, body)| {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        assert_eq!(headers["authorization"], "Basic a=b");
        let document = otlp::request(&path, &body);
        (path, document)
    })
    .collect()
}

fn attributes(of: &Value) -> BTreeMap<&str, &str> {
    let mut all = BTreeMap::new();
    for attribute in of["attributes"].as_array().unwrap() {
        let value = attribute["value"]["stringValue"].as_str().unwrap();
        all.insert(attribute["key"].as_str().unwrap(), value);
    }
    all
}

fn environment(url: &str) -> Vec<(&'static str, String)> {
    vec![
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.to_owned()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Basic%20a%3Db".to_owned(),
        ),
        ("OTEL_SERVICE_NAME", "agent".to_owned()),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "team=a%20b,service.name=other".to_owned(),
        ),
    ]
}

#[test]
fn the_spans_of_a_run_are_one_tree_below_its_caller() {
    let root = Root::with_catalog(CATALOG);
    let (url, received) = collector("200 OK");
    let mut command = root.command();
    command.envs(environment(&url)).env("TRACEPARENT", PARENT);
    let answer = program::run(command, task("meta", &json!({})).to_string().as_bytes());
    let handed_on = meta(&answer)["traceparent"].as_str().unwrap();

    let documents = documents(&received);
    let of_resource = &documents["/v1/traces"]["resourceSpans"][0];
    let resource = attributes(&of_resource["resource"]);
    assert_eq!(
        (resource["service.name"], resource["team"]),
        ("agent", "a b")
    );
    let spans = of_resource["scopeSpans"][0]["spans"].as_array().unwrap();
    let named = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let names: Vec<&Value> = spans.iter().map(|span| &span["name"]).collect();
    assert_eq!(
        names,
        [
            "oneact run",
            "ledger",
            "start_server traced",
            "execute_tool meta"
        ]
    );
    let run = named("oneact run");
    assert_eq!(
        (&run["traceId"], &run["parentSpanId"]),
        (&json!(TRACE), &json!("00f067aa0ba902b7"))
    );
    let time = |span: &Value, key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
    for span in &spans[1..] {
        assert_eq!(
            (&span["traceId"], &span["parentSpanId"]),
            (&json!(TRACE), &run["spanId"])
        );
        assert!(time(span, "startTimeUnixNano") >= time(run, "startTimeUnixNano"));
        assert!(time(span, "endTimeUnixNano") <= time(run, "endTimeUnixNano"));
    }
    let of_run = attributes(run);
    assert_eq!(
        (of_run["oneact.state"], of_run["oneact.effect"]),
        ("done", "done")
    );
    assert_eq!(
        answer.at("/output/content/oneact/request_hash"),
        of_run["oneact.request_hash"]
    );
    // The spans of the tool belong to its call.
    let call = named("execute_tool meta");
    assert_eq!(
        handed_on,
        format!("00-{TRACE}-{}-01", call["spanId"].as_str().unwrap())
    );
    let of_call = attributes(call);
    let operation = answer.at("/output/content/oneact/operation_id");
    assert_eq!(operation, of_call["gen_ai.tool.call.id"]);
    assert_eq!(
        (
            of_call["gen_ai.operation.name"],
            of_call["gen_ai.tool.name"]
        ),
        ("execute_tool", "meta")
    );
    assert_eq!(
        (of_call["oneact.server"], of_call["oneact.capability"]),
        ("traced", "meta")
    );

    let metrics = &documents["/v1/metrics"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let names: Vec<&Value> = metrics
        .as_array()
        .unwrap()
        .iter()
        .map(|metric| &metric["name"])
        .collect();
    assert_eq!(
        names,
        ["oneact.run.duration", "mcp.client.operation.duration"]
    );
    for metric in metrics.as_array().unwrap() {
        let point = &metric["histogram"]["dataPoints"][0];
        let counts = point["bucketCounts"].as_array().unwrap();
        assert_eq!(
            counts.len(),
            point["explicitBounds"].as_array().unwrap().len() + 1
        );
        assert_eq!(counts.iter().filter(|count| *count == "1").count(), 1);
    }
}

#[test]
fn a_failed_call_and_its_run_have_the_fault_and_no_words_of_the_tool() {
    let root = Root::with_catalog(CATALOG);
    let (url, received) = collector("200 OK");
    let mut command = root.command();
    command.envs(environment(&url));
    let answer = program::run(command, task("fails", &json!({})).to_string().as_bytes());
    assert_eq!(answer.fault(), "tool_error");
    let documents = documents(&received);
    let spans = documents["/v1/traces"]["resourceSpans"][0]["scopeSpans"][0]["spans"]
        .as_array()
        .unwrap();
    let failed: Vec<&Value> = spans
        .iter()
        .filter(|span| span["status"]["code"] == 2)
        .collect();
    let names: Vec<&Value> = failed.iter().map(|span| &span["name"]).collect();
    assert_eq!(names, ["oneact run", "execute_tool fails"]);
    assert!(
        failed
            .iter()
            .all(|span| attributes(span)["error.type"] == "tool_error")
    );
    assert_eq!(failed[0].get("parentSpanId"), None);
}

#[test]
fn a_trace_that_is_not_sampled_and_a_switched_off_sdk_send_no_spans() {
    let root = Root::with_catalog(CATALOG);
    let (url, received) = collector("200 OK");
    let unsampled = PARENT.replace("-01", "-00");
    for variables in [
        vec![
            ("TRACEPARENT", unsampled.as_str()),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
        vec![("OTEL_SDK_DISABLED", "TRUE")],
        vec![
            ("OTEL_TRACES_EXPORTER", "none"),
            ("OTEL_METRICS_EXPORTER", "none"),
        ],
    ] {
        let mut command = root.command();
        command.envs(environment(&url)).envs(variables);
        let answer = program::run(command, task("meta", &json!({})).to_string().as_bytes());
        assert_eq!(answer.exit, 0);
    }
    assert!(received.try_recv().is_err());
}

#[test]
fn a_collector_that_refuses_or_never_answers_changes_no_answer() {
    let root = Root::with_catalog(CATALOG);
    let (refusing, _received) = collector("415 Unsupported Media Type");
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (format!("http://{}", silent.local_addr().unwrap()), silent);
    let closed = format!(
        "http://{}",
        TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
    );
    for (url, said) in [
        (&refusing, "traces: HTTP status 415"),
        (&silent.0, "it took longer than 1s"),
        (&closed, "traces: "),
    ] {
        let mut command = root.command();
        command.arg("-v").envs(environment(url));
        let answer = program::run(command, task("meta", &json!({})).to_string().as_bytes());
        assert_eq!((answer.exit, answer.state()), (0, &json!("done")));
        let lines = answer.stderr.lines();
        let lines: Vec<&str> = lines.filter(|line| line.contains("collector")).collect();
        assert_eq!(lines.len(), 1, "{}", answer.stderr);
        assert!(
            lines[0].contains(said) && !lines[0].contains(url),
            "{lines:?}"
        );
    }
}

/// A run of `waits` with these flags, in a root where neither its server nor its tool is let go.
fn waiting(root: &Root, flags: &[&str]) -> Child {
    let mut command = root.command();
    command.args(flags);
    let mut run = command.spawn().unwrap();
    feed(&mut run, &task("waits", &json!({})));
    run
}

/// Reads lines until there is one of which this holds, and returns it.
fn line_where(lines: &mut impl Iterator<Item = String>, is: impl Fn(&Value) -> bool) -> Value {
    let lines = lines.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let mut found = lines.filter(|line| is(line));
    found.next().expect("the run tells it")
}

#[test]
fn a_run_tells_every_5_seconds_what_it_waits_for_and_then_the_progress_of_the_tool() {
    let root = Root::with_catalog(CATALOG);
    let mut run = waiting(&root, &["--progress", "jsonl"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok);
    let first = line_where(&mut lines, |_| true);
    assert!(first["heartbeat"]["elapsed_ms"].is_u64(), "{first}");
    let starting = line_where(&mut lines, |line| line["heartbeat"]["phase"] == "starting");
    assert_eq!(
        starting["heartbeat"]["waiting_for"],
        "the tool server `gated`"
    );
    fs::write(root.path.join("gate"), "").unwrap();
    let progress = line_where(&mut lines, |line| line.get("progress").is_some());
    let told = json!({"tool": "waits", "done": 1.0, "total": 2.0, "message": "half"});
    assert_eq!(progress["progress"], told);
    let tool = line_where(&mut lines, |line| line["heartbeat"]["phase"] == "tool");
    assert_eq!(
        tool["heartbeat"]["waiting_for"],
        "the tool `waits` of the tool server `gated`"
    );
    fs::write(root.path.join("go"), "").unwrap();
    assert_eq!(lines.count(), 0);
    let answer = Answer::of(run.wait_with_output().unwrap());
    assert_eq!(answer.state(), "done");
}

#[test]
fn the_lines_go_to_a_descriptor_of_the_caller() {
    let root = Root::with_catalog(CATALOG);
    let mut command = root.within("sh");
    let script = format!("exec {} --progress jsonl:7 7>lines", program::ONEACT);
    command.args(["-c", &script]);
    let answer = program::run(command, task("meta", &json!({})).to_string().as_bytes());
    assert_eq!(
        (answer.state(), answer.stderr.as_str()),
        (&json!("done"), "")
    );
    let lines = fs::read_to_string(root.path.join("lines")).unwrap();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(first["heartbeat"]["phase"], "reading");
}

#[test]
fn a_descriptor_that_cannot_be_used_is_told_before_anything_is_read() {
    let root = Root::with_catalog(CATALOG);
    for (script, why) in [
        ("--progress jsonl:9", "the descriptor 9 is not open"),
        (
            "--progress jsonl:7 7</dev/null",
            "the descriptor 7 is not open for writing",
        ),
        ("--progress jsonl:2", "3 or higher"),
    ] {
        let mut command = root.within("sh");
        command.args(["-c", &format!("exec {} {script}", program::ONEACT)]);
        let answer = program::run(command, b"");
        assert_eq!((answer.exit, answer.fault()), (2, &json!("invalid_usage")));
        let told = answer.at("/error/error_message").as_str().unwrap();
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn nobody_who_reads_the_lines_does_not_end_the_run() {
    let root = Root::with_catalog(CATALOG);
    let mut run = waiting(&root, &["--progress", "jsonl"]);
    drop(run.stderr.take());
    for file in ["gate", "go"] {
        fs::write(root.path.join(file), "").unwrap();
    }
    let answer = Answer::of(run.wait_with_output().unwrap());
    assert_eq!(answer.state(), "done");
}
