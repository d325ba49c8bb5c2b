//! `replay --html`: the page, opened in a real browser. It needs no request and no script, and what tools
//! said stays text.

use std::{fs, process::Command};

use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    looking::{before_oneact, dispatch, eventful},
    program::{Root, signal_child, until},
};

/// What a browser made of a page.
pub(crate) struct Opened {
    pub(crate) dom: String,
    pub(crate) console: Vec<String>,
}

pub(crate) fn opened(root: &Root, file: &str) -> Opened {
    let user = TempDir::with_prefix("oneact-suite-").unwrap();
    let done = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--enable-logging=stderr", "--v=0", "--window-size=390,844"])
        .arg(format!("--user-data-dir={}", user.path().display()))
        .args(["--dump-dom", &format!("file://{}/{file}", root.path)])
        .output()
        .expect("scripts/setup-tests installs chromium");
    let log = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{log}");
    Opened {
        dom: String::from_utf8(done.stdout).unwrap(),
        console: log
            .lines()
            .filter(|line| line.contains("CONSOLE"))
            .map(str::to_owned)
            .collect(),
    }
}

#[test]
fn a_session_is_a_page_that_a_browser_shows_without_a_complaint() {
    let root = eventful();
    let wrote = root.look(&["replay", "--html", "page.html"]);
    assert_eq!(wrote.exit, 0, "{}", wrote.err);
    assert!(
        wrote.out.ends_with("page.html: sess-1, 8 steps.\n"),
        "{}",
        wrote.out
    );
    let page = opened(&root, "page.html");
    assert_eq!(page.console, Vec::<String>::new());
    for part in [
        "<h1>sess-1</h1>",
        "1 failed",
        "2 answered from the ledger",
        "音声認識タスク_5²",
        "the same request had been answered",
        "Connection timeout after 30s",
        "src=\"data:audio/x-wav;base64,UklGR",
        "changed since",
        "Good morning everyone",
    ] {
        assert!(page.dom.contains(part), "{part}");
    }
    // A file that was changed since is named and not shown.
    let text = fs::read_to_string(root.path.join("page.html")).unwrap();
    assert!(!text.contains("<video"));
    assert!(!text.contains("<script") && !text.contains("<link") && !text.contains("src=\"http"));
}

#[test]
fn what_others_wrote_stays_text_in_a_browser_wherever_it_stands() {
    let hostile = "</script></pre><img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>";
    let name = "<img src=x onerror=alert(1)>";
    let root = before_oneact(name, "<meta http-equiv=refresh content=0><b>then</b>");
    let catalog = fs::read_to_string(root.path.join("catalog.toml")).unwrap();
    let echo = r#"
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.echo]
effects = { idempotent = true }
mcp = { server = "counter", tool = "happen" }
result = { kind = "analysis", asset_type = "index", format = "json" }
"#;
    fs::write(root.path.join("catalog.toml"), catalog + echo).unwrap();
    let file = format!("{name}.txt");
    fs::write(root.path.join(&file), hostile).unwrap();
    let input = json!([{"ref_id": "store_1", "storage_uri": file, "status": "stored"}]);
    let mut task = dispatch("task_1", "echo", &input, &["derived_1"]);
    task["dispatch"]["parameters"] = json!({"what": hostile, "<b>name</b>": 1});
    task["dispatch"]["action"] = json!(hostile);
    task["metadata"]["session_id"] = json!(name);
    let answer = root.at(0, &task);
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    assert_eq!(answer.result_data()["happened"], hostile);
    root.look(&["replay", "--html", "page.html"]);
    let page = opened(&root, "page.html");
    assert_eq!(page.console, Vec::<String>::new());
    for part in [
        "<title>&lt;img src=x onerror=alert(1)&gt;</title>",
        "&lt;/script&gt;&lt;/pre&gt;&lt;img src=x onerror=",
        "&lt;img src=x onerror=alert(1)&gt;.txt",
        "&lt;meta http-equiv=refresh",
        "&lt;b&gt;name&lt;/b&gt;",
        "findUser",
        "derived_1",
    ] {
        assert!(page.dom.contains(part), "{part}: {}", page.dom);
    }
    for tag in ["<img", "<script", "<b>", "http-equiv=\"refresh"] {
        assert!(!page.dom.contains(tag), "{tag}: {}", page.dom);
    }
}

/// Copies step 2, which made audio, to the steps 8 to 10: twice without a link, and with the link of something else.
fn with_added_rows() -> Root {
    let root = eventful();
    let ledger = rusqlite::Connection::open(root.path.join(".oneact/ledger.db")).unwrap();
    let columns: Vec<String> = {
        let text = "SELECT name FROM pragma_table_info('agent_actions')";
        let mut names = ledger.prepare(text).unwrap();
        let names = names.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    };
    for (step, seq, outputs) in [
        (8, "NULL", "output_ids"),
        (9, "NULL", "NULL"),
        (10, "1", "output_ids"),
    ] {
        let values = columns.iter().map(|name| match name.as_str() {
            "id" => format!("'added-{step}'"),
            "step_index" => step.to_string(),
            "seq" => seq.to_owned(),
            "output_ids" => outputs.to_owned(),
            other => other.to_owned(),
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let add = format!(
            "INSERT INTO agent_actions SELECT {values} FROM agent_actions WHERE step_index = 2"
        );
        assert_eq!(ledger.execute(&add, []).unwrap(), 1);
    }
    root
}

#[test]
fn a_row_that_somebody_added_is_no_answer_of_ours_on_the_page_and_is_not_executed() {
    let root = with_added_rows();
    assert_eq!(root.look(&["replay", "--html", "page.html"]).exit, 0);
    let page = fs::read_to_string(root.path.join("page.html")).unwrap();
    let unsealed = "No link of the ledger seals this answer";
    let section = |n: u32| {
        let from = page
            .split(&format!("<section id=\"step-{n}\">"))
            .nth(1)
            .unwrap();
        from.split("</section>").next().unwrap()
    };
    assert!(section(2).contains("<audio") && !section(2).contains(unsealed));
    for added in [8, 9, 10] {
        let section = section(added);
        assert!(section.contains(unsealed), "{added}");
        assert!(
            !section.contains("<audio") && !section.contains("<figure"),
            "{added}"
        );
        let refused = root.look(&["replay", &added.to_string(), "--execute"]);
        assert_eq!(refused.exit, 2, "{added}: {}", refused.out);
        assert!(
            refused
                .out
                .starts_with("refused: no link of the ledger seals this step"),
            "{}",
            refused.out
        );
    }
    assert_eq!(root.look(&["replay", "2", "--execute"]).exit, 0);
}

#[test]
fn a_page_that_cannot_be_written_is_an_error_and_leaves_nothing() {
    let root = eventful();
    let failed = root.look(&["replay", "--html", "nowhere/page.html"]);
    assert_eq!((failed.exit, failed.out.as_str()), (1, ""));
    assert!(failed.err.contains("cannot write"), "{}", failed.err);
    assert!(!root.path.join("nowhere").exists());
}

#[test]
fn ctrl_c_while_a_page_is_written_is_told_and_leaves_the_whole_page() {
    let root = eventful();
    let pages = root.path.join("pages");
    fs::create_dir(&pages).unwrap();
    let names = || fs::read_dir(&pages).unwrap().count();
    // The child is stopped while its temporary file is there, so that the signal comes at this moment.
    let stopped = |_| {
        let mut command = root.command();
        command.args(["replay", "--html", "pages/page.html"]);
        let mut child = command.spawn().unwrap();
        while names() == 0 {
            if child.try_wait().unwrap().is_some() {
                // It wrote the page between the two questions.
                let _ = fs::remove_file(pages.join("page.html"));
                return None;
            }
        }
        signal_child(&child, Signal::STOP);
        until("it is stopped", || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            [") T ", ") Z "]
                .iter()
                .any(|state| stat.contains(state))
                .then_some(())
        });
        let is_there = names() == 1 && !pages.join("page.html").exists();
        signal_child(&child, Signal::INT);
        signal_child(&child, Signal::CONT);
        let exit = child.wait().unwrap().code();
        let left = names();
        let page = fs::read_to_string(pages.join("page.html")).unwrap_or_default();
        let _ = fs::remove_file(pages.join("page.html"));
        is_there.then_some((exit, left, page.ends_with("</html>\n")))
    };
    assert_eq!((0..500).find_map(stopped), Some((Some(130), 1, true)));
}
