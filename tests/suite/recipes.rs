//! The recipes of docs/families.md: servers that others wrote, what they give, and how they fail,
//! each in a dialect of its own.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

use crate::{
    installed::{
        asset, done, failed, families, families_but, ffmpeg, installed, make, oneact, perform,
        result,
    },
    program::{Answer, Root},
};

/// A task that says all in its parameters.
fn ask(root: &Root, capability: &str, parameters: &Value) -> Answer {
    perform(root, &[capability], &[], parameters)
}

#[test]
fn time_is_told_in_another_zone() {
    let root = families();
    let at = |target| {
        let zones = json!({"source_timezone": "Asia/Singapore", "time": "10:00", "target_timezone": target});
        ask(&root, "CAP-DAT-017", &zones)
    };
    let answer = at("UTC");
    let told = done(&answer);
    assert_eq!(told["time_difference"], "-8.0h");
    let there = told["target"]["datetime"].as_str().unwrap();
    assert!(there.ends_with("T02:00:00+00:00"), "{there}");
    assert!(failed(&at("Moon/Tranquility")).contains("Moon/Tranquility"));
}

#[test]
fn a_repository_is_read() {
    let root = families();
    let author = ["-c", "user.name=Reynard", "-c", "user.email=r@example.com"];
    let commit = ["commit", "--quiet", "--allow-empty", "-m", "the first fox"];
    make(&root, "git", &["init", "--quiet", "."]);
    make(&root, "git", &[&author[..], &commit].concat());
    let log = |path: &str| ask(&root, "CAP-DAT-016", &json!({"repo_path": path}));
    let answer = log(root.path.as_str());
    let text = done(&answer)["text"].as_str().unwrap();
    assert!(text.contains("Message: the first fox"), "{text}");
    assert!(failed(&log("/nowhere")).contains("/nowhere"));
}

/// Answers every request on loopback: `/fox` with a page, all else with 404.
fn web() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().unwrap().unwrap();
            while !lines.next().unwrap().unwrap().is_empty() {}
            let (status, body) = match request.as_str() {
                "GET /fox HTTP/1.1" => ("200 OK", "a quick brown fox"),
                _ => ("404 Not Found", "gone"),
            };
            let head = "Content-Type: text/plain\r\nConnection: close";
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    place
}

#[test]
fn a_page_is_fetched_unless_its_address_is_private_and_that_is_not_allowed() {
    let web = web();
    let fetch = |root: &Root, path| {
        let page = json!({"url": format!("{web}{path}")});
        ask(root, "CAP-ACQ-010", &page)
    };
    let root = families_but(|catalog| {
        let flag = "\"--ignore-robots-txt\"";
        catalog.replace(flag, &format!("{flag}, \"--allow-private-ips\""))
    });
    let answer = fetch(&root, "/fox");
    let text = done(&answer)["text"].as_str().unwrap();
    assert!(text.ends_with("a quick brown fox"), "{text}");
    assert!(failed(&fetch(&root, "/wolf")).contains("status code 404"));
    assert!(failed(&fetch(&families(), "/fox")).contains("not a public address"));
}

#[test]
fn what_a_server_remembers_outlives_it() {
    let root = families();
    let fox = json!({"name": "fox", "entityType": "animal", "observations": ["is brown"]});
    done(&ask(&root, "CAP-DAT-013", &json!({"entities": [fox]})));
    assert!(root.path.join("memory.jsonl").is_file());
    let answer = ask(&root, "CAP-DAT-015", &json!({"query": "brown"}));
    assert_eq!(done(&answer), &json!({"entities": [fox], "relations": []}));
    let wolf = json!({"observations": [{"entityName": "wolf", "contents": ["is grey"]}]});
    assert!(failed(&ask(&root, "CAP-DAT-014", &wolf)).contains("wolf not found"));
}

#[test]
fn a_database_is_filled_and_asked_and_its_errors_in_prose_are_errors() {
    let root = families();
    let query = |capability, query| ask(&root, capability, &json!({"query": query}));
    done(&query("CAP-DAT-010", "CREATE TABLE fox (name TEXT)"));
    let answer = query("CAP-DAT-011", "INSERT INTO fox VALUES ('Reynard')");
    assert_eq!(done(&answer), &json!({"text": "[{'affected_rows': 1}]"}));
    let answer = query("CAP-DAT-012", "SELECT name FROM fox");
    assert_eq!(done(&answer), &json!({"text": "[{'name': 'Reynard'}]"}));
    let answer = query("CAP-DAT-012", "SELECT name FROM wolf");
    assert_eq!(failed(&answer), "Database error: no such table: wolf");
}

#[test]
fn a_server_on_an_sdk_it_does_not_know_is_a_configuration_fault_with_its_last_words() {
    let newer = installed("servers/lib").read_dir_utf8().unwrap().next();
    let newer = newer.unwrap().unwrap().into_path().join("site-packages");
    let root = families_but(|catalog| {
        let variables = format!("[server.sqlite]\nenv = {{ PYTHONPATH = \"{newer}\" }}");
        catalog.replace("[server.sqlite]", &variables)
    });
    let answer = ask(&root, "CAP-DAT-012", &json!({"query": "SELECT 1"}));
    assert_eq!(
        (answer.exit, answer.fault()),
        (1, &json!("server_not_found")),
        "{}",
        answer.envelope
    );
    let last = answer.at("/output/content/oneact/server/stderr_tail");
    assert!(last.as_str().unwrap().contains("Error"), "{last}");
}

/// A root with the film of a fox, and a note that is called a film.
fn films() -> Root {
    let root = families();
    let film = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/media/fox.mp4");
    fs::copy(film, root.path.join("fox.mp4")).unwrap();
    fs::write(root.path.join("note.mp4"), "this is no film").unwrap();
    root
}

#[test]
fn sound_is_extracted_by_a_server_that_is_told_where_to() {
    let root = films();
    let extract = |input, parameters| perform(&root, &["CAP-PRE-010"], &[input], &parameters);
    let answer = extract("fox.mp4", json!({}));
    assert!(fs::read(asset(&answer)).unwrap().starts_with(b"RIFF"));
    // The server says that all went well, and has written MP3 into a file called .wav.
    let answer = extract("fox.mp4", json!({"format": "mp3"}));
    assert_eq!(
        (answer.exit, answer.fault()),
        (75, &json!("output_format")),
        "{}",
        answer.envelope
    );
}

#[test]
fn a_server_that_says_success_false_has_failed() {
    let root = films();
    let about = result(&root, &["CAP-PRE-012"], &["fox.mp4"]);
    let codecs = (&about["video_codec"], &about["audio_codec"]);
    assert_eq!(codecs, (&json!("h264"), &json!("aac")));
    assert_eq!(about["resolution"], json!({"width": 64, "height": 48}));
    for capability in ["CAP-PRE-010", "CAP-PRE-012"] {
        let answer = perform(&root, &[capability], &["note.mp4"], &json!({}));
        assert!(failed(&answer).contains("Invalid data found"));
    }
}

#[test]
fn text_in_a_picture_is_read() {
    let root = families();
    let white = "color=white:size=640x120";
    let words = "drawtext=text='ONEACT TASK 4711':fontsize=48:x=20:y=30";
    let sign = ["-f", "lavfi", "-i", white, "-vf", words, "-frames:v", "1"];
    ffmpeg(&root, &[&sign[..], &["sign.png"]].concat());
    let read = |input| perform(&root, &["CAP-VIS-010"], &[input], &json!({}));
    let answer = read("sign.png");
    let text = json!({"result": "ONEACT TASK 4711"});
    assert_eq!(done(&answer), &text);
    let stored: Value = serde_json::from_slice(&fs::read(asset(&answer)).unwrap()).unwrap();
    assert_eq!(stored, text);
    fs::write(root.path.join("note.png"), "this is no picture").unwrap();
    assert!(failed(&read("note.png")).contains("decode image"));
}

#[test]
fn the_doctor_finds_every_recipe_well() {
    let root = families();
    let capabilities = [
        "CAP-ACQ-010",
        "CAP-PRE-010",
        "CAP-VIS-010",
        "CAP-DAT-010",
        "CAP-DAT-013",
        "CAP-DAT-016",
        "CAP-DAT-017",
    ];
    let mut doctor = oneact(&root);
    let output = doctor.arg("doctor").args(capabilities).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
}
