//! Assets in object stores, on real servers: the first two examples of specification 000, copies and presigned URLs for
//! tools, reuse, what is refused, and uploads that were killed.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    installed::installed,
    program::{Answer, Root, feed, fresh, run, signal_child, until},
    s3_server::{BUCKET, KEY, Kind, SECRET, Server},
};

/// A root whose assets are in the bucket of that endpoint.
fn root(endpoint: &str) -> Root {
    Root::with_catalog(&format!(
        r#"
catalog = 1
[storage]
uri = "s3://{BUCKET}"
endpoint = "{endpoint}"
[server.acquisition]
command = ["{{self}}", "serve", "acquisition"]
allow_private = true
[server.audio-analysis]
command = ["python3", "-SB", "servers/storekeeper.py"]

[capability.CAP-ACQ-001]
effects = {{ read_only = true, idempotent = true }}
defaults = {{ platform = "generic_video_platform" }}
mcp = {{ server = "acquisition", tool = "url_validator" }}
bind = {{ url = "source.uri" }}
result = {{ kind = "metadata", schema = {{ type = "object", required = ["url_valid"] }} }}

[capability.CAP-AUD-001]
effects = {{ idempotent = true, destructive = false }}
defaults = {{ language = "en", timestamps = true }}
mcp = {{ server = "audio-analysis", tool = "transcriber" }}
bind = {{ audio_uri = "input.presigned" }}
[capability.CAP-AUD-001.result]
kind = "analysis"
asset_type = "transcript"
schema = {{ type = "object", required = ["segments", "language_detected", "total_duration_seconds", "total_segments"] }}

[capability.COPY]
effects = {{ idempotent = true, destructive = false }}
mcp = {{ server = "audio-analysis", tool = "copier" }}
bind = {{ input_path = "input.path", output_path = "output.path" }}
result = {{ kind = "asset", asset_type = "file", format = "any" }}

[capability.FILL]
effects = {{ idempotent = true, destructive = false }}
mcp = {{ server = "audio-analysis", tool = "copier" }}
bind = {{ output_path = "output.path" }}
result = {{ kind = "asset", asset_type = "file", format = "any" }}

[capability.TALK]
effects = {{ read_only = true }}
mcp = {{ server = "audio-analysis", tool = "talker" }}
result = {{ kind = "metadata" }}
"#
    ))
}

fn command(root: &Root) -> Command {
    let mut command = root.command();
    command
        .env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

/// A task on one input, in the session of the examples.
fn task(capability: &str, input: Option<&str>, output: Option<&str>, parameters: &Value) -> Value {
    let inputs =
        input.map(|uri| json!({"ref_id": "store_1", "storage_uri": uri, "status": "stored"}));
    json!({
        "dispatch": {
            "task_id": "task_1", "action": "", "capability_ids": [capability], "attempt": 1,
            "input_refs_resolved": inputs.into_iter().collect::<Vec<_>>(),
            "output_refs_expected": output.into_iter().collect::<Vec<_>>(), "parameters": parameters,
        },
        "metadata": {"session_id": "session-xxx", "request_id": fresh()},
    })
}

fn perform(root: &Root, task: &Value) -> Answer {
    let answer = run(command(root), task.to_string().as_bytes());
    assert_eq!(root.scratch().next(), None);
    answer
}

/// Nothing that a run wrote or said holds a key or a signature.
fn assert_no_secret(root: &Root, answers: &[&Answer]) {
    fn files(dir: &camino::Utf8Path, visit: &mut dyn FnMut(&camino::Utf8Path)) {
        for entry in dir.read_dir_utf8().unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            match (kind.is_dir(), kind.is_file()) {
                (true, _) => files(entry.path(), visit),
                (_, true) => visit(entry.path()),
                _ => {}
            }
        }
    }
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    files(&root.path, &mut |path| {
        texts.push((path.to_string(), fs::read(path).unwrap()));
    });
    texts.extend(answers.iter().map(|answer| {
        (
            "envelope".to_owned(),
            answer.envelope.to_string().into_bytes(),
        )
    }));
    texts.extend(
        answers
            .iter()
            .map(|answer| ("stderr".to_owned(), answer.stderr.clone().into_bytes())),
    );
    for (place, text) in texts {
        for secret in [SECRET, "X-Amz-Credential=testkey", "AWS4-HMAC-SHA256&"] {
            let found = text
                .windows(secret.len())
                .any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {place}");
        }
    }
}

/// Answers HEAD and GET with a film.
fn web() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while !lines.next().unwrap().unwrap().is_empty() {}
            let film = fs::read("fixtures/media/fox.mp4").unwrap();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                film.len()
            );
            let _ = stream.write_all(head.as_bytes());
            if request.starts_with("GET") {
                let _ = stream.write_all(&film);
            }
        }
    });
    place
}

/// The fields of the examples that are compared: all that the specification shows, but for the time of the call, of which
/// only the type is compared. `[HOST]` stands for the web server. Nothing else is replaced: the transcript, the bucket and
/// the session are those of the specification.
const EXAMPLE_1: &str = r#"{
    "task_id": "task_1",
    "status": "complete",
    "capability_ids_executed": ["CAP-ACQ-001"],
    "tool_invocations": [{
        "tool_name": "url_validator",
        "mcp_server": "acquisition",
        "parameters": { "url": "[HOST]/video", "platform": "generic_video_platform" },
        "status": "success"
    }],
    "output_refs_produced": [],
    "result_data": {
        "url_valid": true,
        "platform": "generic_video_platform",
        "video_available": true,
        "restrictions": null
    },
    "quality_checks": { "output_exists": true, "output_non_empty": true, "format_valid": true }
}"#;

const EXAMPLE_2: &str = r#"{
    "task_id": "task_7",
    "status": "complete",
    "capability_ids_executed": ["CAP-AUD-001"],
    "tool_invocations": [{
        "tool_name": "transcriber",
        "mcp_server": "audio-analysis",
        "parameters": {
            "audio_uri": "s3://platform-bucket/session-xxx/derived_1.wav",
            "language": "en",
            "timestamps": true
        },
        "status": "success"
    }],
    "output_refs_produced": [{
        "ref_id": "derived_3",
        "storage_uri": "s3://platform-bucket/session-xxx/derived_3.json",
        "asset_type": "transcript",
        "status": "created"
    }],
    "result_data": {
        "segments": [
            { "start": 0.0, "end": 3.2, "speaker": "SPEAKER_00", "text": "Good morning everyone" },
            { "start": 3.5, "end": 7.8, "speaker": "SPEAKER_01", "text": "Thank you for joining us today" }
        ],
        "language_detected": "en",
        "total_duration_seconds": 45.2,
        "total_segments": 12
    },
    "quality_checks": { "output_exists": true, "output_non_empty": true, "format_valid": true, "result_complete": true }
}"#;

/// Every field that is expected has the expected value; numbers are equal if their values are.
fn assert_fields(expected: &Value, found: &Value, place: &str) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                assert_fields(value, &found[name], &format!("{place}/{name}"));
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            assert_eq!(expected.len(), found.len(), "{place}");
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                assert_fields(expected, found, &format!("{place}/{at}"));
            }
        }
        (Value::Number(expected), Value::Number(found)) => {
            assert_eq!(expected.as_f64(), found.as_f64(), "{place}");
        }
        (expected, found) => assert_eq!(expected, found, "{place}"),
    }
}

fn assert_example(answer: &Answer, expected: &str) {
    assert_eq!(answer.exit, 0, "{} {}", answer.envelope, answer.stderr);
    let result = answer.at("/output/content/task_result");
    assert_fields(&serde_json::from_str(expected).unwrap(), result, "");
    assert!(result["tool_invocations"][0]["execution_time_ms"].is_u64());
}

#[test]
fn the_first_two_examples_run_on_a_real_store_and_a_real_web_server() {
    let (server, web) = (Server::start(Kind::Seaweed), web());
    let root = root(&server.endpoint());
    let first = json!({
        "dispatch": {
            "task_id": "task_1",
            "action": "Validate that src_1 is a reachable source URL",
            "capability_ids": ["CAP-ACQ-001"],
            "input_refs_resolved": [
                { "ref_id": "src_1", "storage_uri": format!("{web}/video"), "status": "reference" }
            ],
            "output_refs_expected": [],
            "attempt": 1
        },
        "metadata": { "session_id": "session-xxx" }
    });
    let first = perform(&root, &first);
    assert_example(&first, &EXAMPLE_1.replace("[HOST]", &web));
    server.put(
        "session-xxx/derived_1.wav",
        &fs::read("fixtures/media/fox.wav").unwrap(),
    );
    let second = json!({
        "dispatch": {
            "task_id": "task_7",
            "action": "Transcribe audio content from derived_1 to text with timestamps",
            "capability_ids": ["CAP-AUD-001"],
            "input_refs_resolved": [
                { "ref_id": "derived_1", "storage_uri": "s3://platform-bucket/session-xxx/derived_1.wav", "status": "created" }
            ],
            "output_refs_expected": ["derived_3"],
            "attempt": 1
        },
        "metadata": { "session_id": "session-xxx" }
    });
    let answer = perform(&root, &second);
    assert_example(&answer, EXAMPLE_2);
    let stored: Value =
        serde_json::from_slice(&server.get("session-xxx/derived_3.json").unwrap()).unwrap();
    assert_eq!(&stored, answer.result_data());
    assert_no_secret(&root, &[&first, &answer]);
}

#[test]
fn a_tool_gets_copies_and_urls_and_the_store_keeps_what_it_makes() {
    let server = Server::start(Kind::Seaweed);
    let root = root(&server.endpoint());
    server.put("in/talk.wav", &fs::read("fixtures/media/fox.wav").unwrap());
    let input = format!("s3://{BUCKET}/in/talk.wav");
    // A copy, whose output is an object; it is answered again while both are the same.
    let copy = |salt: &str| {
        let mut task = task(
            "COPY",
            Some(&input),
            Some("derived_1"),
            &json!({"count": 2}),
        );
        task["dispatch"]["salt"] = json!(salt);
        perform(&root, &task)
    };
    let answer = copy("a");
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    let uri = answer.at("/output/content/task_result/output_refs_produced/0/storage_uri");
    assert_eq!(
        uri,
        &json!(format!("s3://{BUCKET}/session-xxx/derived_1.bin"))
    );
    let wav = server.get("in/talk.wav").unwrap();
    let twice = server.get("session-xxx/derived_1.bin").unwrap();
    assert!(twice == [&wav[..], &wav].concat());
    let path = answer.at("/output/content/task_result/tool_invocations/0/parameters/input_path");
    assert!(
        path.as_str().unwrap().ends_with("/input-1-store_1.wav"),
        "{path}"
    );
    assert_eq!(copy("a").state(), "reused");
    server.put("session-xxx/derived_1.bin", b"changed");
    // The object there is not oneact's any more.
    let refused = copy("a");
    assert_eq!(refused.fault(), "file_exists", "{}", refused.envelope);
    server.delete("session-xxx/derived_1.bin");
    assert_eq!(copy("a").state(), "done");
    server.put("in/talk.wav", &[&wav[..], b"more"].concat());
    assert_eq!(copy("a").state(), "done");
    assert_eq!(copy("a").state(), "reused");
    // What a tool says of a presigned URL is redacted, in its result and in its failure.
    let transcribe = |language: &str| {
        let parameters = json!({ "language": language });
        perform(
            &root,
            &task("CAP-AUD-001", Some(&input), Some("derived_2"), &parameters),
        )
    };
    let echo = transcribe("echo");
    assert_eq!(echo.result_data()["heard_at"], "***", "{}", echo.envelope);
    let failed = transcribe("fail");
    assert!(
        failed
            .at("/error/error_message")
            .as_str()
            .unwrap()
            .contains("cannot transcribe ***")
    );
    // A long result is an object, too.
    let long = perform(
        &root,
        &task("TALK", None, None, &json!({"length": 700_000})),
    );
    let blob = long.result_data()["$blob"].clone();
    let key = blob["storage_uri"]
        .as_str()
        .unwrap()
        .trim_start_matches("s3://platform-bucket/");
    assert_eq!(
        server.get(key).unwrap().len() as u64,
        blob["bytes"].as_u64().unwrap()
    );
    assert_no_secret(&root, &[&answer, &echo, &failed, &long]);
    for shown in [
        &["show", "1"][..],
        &["replay", "--html", "page.html"],
        &["verify"],
        &["history"],
    ] {
        let mut shows = command(&root);
        let output = shows.args(shown).output().unwrap();
        assert!(output.status.success(), "{shown:?}: {output:?}");
    }
}

#[test]
fn what_cannot_be_reached_is_told_before_a_tool_is_called() {
    let server = Server::start(Kind::Seaweed);
    let right = root(&server.endpoint());
    let missing = format!("s3://{BUCKET}/missing.wav");
    let input = |uri: &str| task("CAP-AUD-001", Some(uri), None, &json!({}));
    for (answer, fault, words) in [
        (
            perform(&right, &input(&missing)),
            "input_inaccessible",
            "there is no such object",
        ),
        (
            perform(&right, &input("s3://nowhere/a.wav")),
            "input_inaccessible",
            "the bucket does not exist",
        ),
        (
            perform(&right, &input(&format!("s3://{BUCKET}/a//b"))),
            "input_inaccessible",
            "the key cannot be used",
        ),
        (
            perform(&right, &input(&format!("s3://{BUCKET}/../b"))),
            "input_inaccessible",
            "the key cannot be used",
        ),
    ] {
        assert_eq!(answer.fault(), fault, "{}", answer.envelope);
        let message = answer.at("/error/error_message").as_str().unwrap();
        assert!(message.contains(words), "{message}");
        assert_eq!(answer.at("/output/content/oneact/effect"), "none");
    }
    let fill = task("FILL", None, Some("derived_1"), &json!({}));
    let mut wrong = command(&right);
    wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
    let answer = run(wrong, fill.to_string().as_bytes());
    assert_eq!(answer.fault(), "permission_denied", "{}", answer.envelope);
    let nobody = root("http://127.0.0.1:9");
    let answer = perform(&nobody, &fill);
    assert_eq!(answer.fault(), "server_unreachable", "{}", answer.envelope);
    assert_eq!(answer.exit, 75);
    assert!(
        answer
            .at("/output/content/task_result/tool_invocations")
            .as_array()
            .unwrap()
            .is_empty()
    );
    // A dry run contacts nobody.
    let mut dry = command(&nobody);
    dry.arg("--dry-run");
    let answer = run(dry, input(&missing).to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert!(
        answer
            .envelope
            .to_string()
            .contains("a dry run contacts no host")
    );
}

/// What the doctor says of the store.
fn doctor(mut doctor: Command) -> (String, String) {
    doctor.args(["doctor", "--json", "TALK"]);
    let output = doctor.output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = told["findings"].as_array().unwrap();
    let store = findings
        .iter()
        .find(|finding| finding["subject"]["kind"] == "storage")
        .unwrap();
    let text = |name: &str| store[name].as_str().unwrap().to_owned();
    (text("finding"), text("what"))
}

#[test]
fn the_doctor_tries_the_bucket() {
    for (kind, expected) in [
        (Kind::Seaweed, "store_good"),
        (Kind::Rclone, "store_unconditional"),
    ] {
        let server = Server::start(kind);
        let root = root(&server.endpoint());
        let (finding, what) = doctor(command(&root));
        assert_eq!(finding, expected, "{what}");
        assert_eq!(server.keys(""), Vec::<String>::new());
        let mut wrong = command(&root);
        wrong.env("AWS_SECRET_ACCESS_KEY", "wrong");
        let (finding, what) = doctor(wrong);
        assert_eq!(finding, "store_unusable", "{what}");
        assert!(what.contains("denies access"), "{what}");
    }
}

#[test]
fn the_keys_of_a_profile_are_used_and_other_ways_to_keys_are_refused() {
    let server = Server::start(Kind::Rclone);
    let with = |profile: &str| {
        let root = root(&server.endpoint());
        let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
        let key = format!("[storage]\n{profile}\n");
        fs::write(
            root.path.join("catalog.toml"),
            catalog.replace("[storage]\n", &key),
        )
        .unwrap();
        fs::create_dir(root.path.join(".aws")).unwrap();
        let keys = format!("aws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n");
        let credentials =
            format!("[default]\n{keys}\n[dev]\n{keys}\n[half]\naws_access_key_id = x\n");
        fs::write(root.path.join(".aws/credentials"), credentials).unwrap();
        let config =
            "[profile dev]\nregion = us-east-1\noutput = json\n[profile sso]\nsso_session = x\n";
        fs::write(root.path.join(".aws/config"), config).unwrap();
        root
    };
    for profile in ["", "profile = \"dev\""] {
        let root = with(profile);
        // A named profile counts more than the environment.
        let mut named = root.command();
        if !profile.is_empty() {
            named
                .env("AWS_ACCESS_KEY_ID", "other")
                .env("AWS_SECRET_ACCESS_KEY", "other");
        }
        let (finding, what) = doctor(named);
        assert_eq!(finding, "store_unconditional", "{profile}: {what}");
    }
    for (profile, words) in [
        ("sso", "has the key `sso_session`"),
        ("none", "there is no profile `none`"),
        ("half", "only one of"),
    ] {
        let root = with(&format!("profile = \"{profile}\""));
        let (finding, what) = doctor(root.command());
        assert_eq!(finding, "store_unusable");
        assert!(what.contains(words), "{what}");
    }
    let root = with("");
    let mut environment = root.command();
    environment.env("AWS_PROFILE", "sso");
    assert!(doctor(environment).1.contains("sso_session"));
}

/// Passes bytes on to a server, until as many as `room` have come from clients. Then it passes nothing on.
struct Proxy {
    endpoint: String,
    room: Arc<AtomicU64>,
}

impl Proxy {
    fn to(endpoint: &str, room: u64) -> Self {
        let there = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let room = Arc::new(AtomicU64::new(room));
        let left = Arc::clone(&room);
        thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(&there).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || pass(back.0, back.1, &AtomicU64::new(u64::MAX)));
                let left = Arc::clone(&left);
                thread::spawn(move || pass(client, server, &left));
            }
        });
        Self { endpoint, room }
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, room: &AtomicU64) {
    let mut block = vec![0; 65536];
    loop {
        let Ok(read) = from.read(&mut block) else {
            return;
        };
        if read == 0 {
            return;
        }
        let took = room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| {
            room.checked_sub(read as u64)
        });
        if took.is_err() {
            // The rest of this connection never arrives.
            room.store(0, Ordering::SeqCst);
            let _ = from.read_to_end(&mut Vec::new());
            return;
        }
        if to.write_all(&block[..read]).is_err() {
            return;
        }
    }
}

/// The uploads into the bucket that are not completed.
fn open_uploads(server: &Server) -> usize {
    let mut aws = Command::new(installed("s3/bin/aws"));
    aws.args([
        "--endpoint-url",
        &server.endpoint(),
        "--region",
        "us-east-1",
        "--output",
        "json",
    ]);
    aws.args(["s3api", "list-multipart-uploads", "--bucket", BUCKET]);
    aws.env("AWS_ACCESS_KEY_ID", KEY)
        .env("AWS_SECRET_ACCESS_KEY", SECRET);
    let output = aws.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    listed["Uploads"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_killed_upload_is_invisible_and_the_next_run_removes_it() {
    let server = Server::start(Kind::Seaweed);
    let proxy = Proxy::to(&server.endpoint(), 20 << 20);
    let root = root(&proxy.endpoint);
    let fill = task(
        "FILL",
        None,
        Some("derived_1"),
        &json!({"text": "0123456789abcdef", "count": 2 << 20}),
    );
    let mut killed = command(&root).spawn().unwrap();
    feed(&mut killed, &fill);
    until("the upload stands still", || {
        (proxy.room.load(Ordering::SeqCst) == 0).then_some(())
    });
    signal_child(&killed, Signal::KILL);
    killed.wait().unwrap();
    assert_eq!(server.keys(""), Vec::<String>::new());
    assert_eq!(open_uploads(&server), 1);
    assert_eq!(
        fs::read_dir(root.path.join(".oneact/uploads"))
            .unwrap()
            .count(),
        1
    );
    proxy.room.store(u64::MAX, Ordering::SeqCst);
    let answer = perform(&root, &fill);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(server.keys(""), ["session-xxx/derived_1.bin"]);
    assert_eq!(
        server.get("session-xxx/derived_1.bin").unwrap().len(),
        32 << 20
    );
    assert_eq!(open_uploads(&server), 0);
    assert_eq!(
        fs::read_dir(root.path.join(".oneact/uploads"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn a_cancelled_upload_leaves_nothing() {
    let server = Server::start(Kind::Seaweed);
    let proxy = Proxy::to(&server.endpoint(), 20 << 20);
    let root = root(&proxy.endpoint);
    let fill = task(
        "FILL",
        None,
        Some("derived_1"),
        &json!({"text": "0123456789abcdef", "count": 2 << 20}),
    );
    let mut cancelled = command(&root).spawn().unwrap();
    feed(&mut cancelled, &fill);
    until("the upload stands still", || {
        (proxy.room.load(Ordering::SeqCst) == 0).then_some(())
    });
    proxy.room.store(u64::MAX, Ordering::SeqCst);
    signal_child(&cancelled, Signal::TERM);
    let answer = Answer::of(cancelled.wait_with_output().unwrap());
    assert_eq!(answer.state(), "cancelled", "{}", answer.envelope);
    assert_eq!(server.keys(""), Vec::<String>::new());
    assert_eq!(open_uploads(&server), 0);
}
