//! `oneact report`: a finished plan on a terminal and as a page.

use std::fs;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use crate::{
    approvals::at_a_terminal,
    looking_page::opened,
    program::{Answer, Root, run},
};

const HOSTILE: &str = "</td></table><img src=x onerror=\"document.title='taken'\">";

fn plan() -> Value {
    let edit = |id: &str, target: &str, pattern: &str, replacement: &str| {
        json!({"action_id": id, "action_type": "FILE_MODIFY", "target": target,
            "operation": {"type": "text_replace", "pattern": pattern, "replacement": replacement}})
    };
    let mut actions = json!([
        edit("a1", "src/server.py", "PORT = 8080", "PORT = 9443"),
        edit("a2", "config.yaml", "name: demo", "name: live"),
        {"action_id": "a3", "action_type": "FILE_CREATE", "target": "notes/<b>.html",
            "operation": {"type": "create", "content": HOSTILE}},
    ]);
    actions[1]["depends_on"] = json!(["a1"]);
    actions[2]["depends_on"] = json!(["a2"]);
    json!({
        "plan_id": "plan_42", "task_id": "task_7", "protocol_validation": true,
        "metadata": {"session_id": "sess-1"}, "action_plan": actions,
    })
}

/// A root in which the plan ran at a time from which its backups have not expired.
fn with_plan() -> (Root, Answer) {
    let root = Root::with_catalog("catalog = 1\n");
    fs::create_dir(root.path.join("src")).unwrap();
    let before = [
        (
            "src/server.py",
            "import os\n\nPORT = 8080\n\ndef start():\n    pass\n",
        ),
        ("config.yaml", "name: demo\npassword: hunter2-old\n"),
    ];
    for (name, content) in before {
        fs::write(root.path.join(name), content).unwrap();
    }
    let mut command = root.command();
    command.args(["--clock", "2096-02-24T10:00:00+00:00[UTC]", "--seed", "7"]);
    let answer = run(command, plan().to_string().as_bytes());
    assert_eq!(answer.exit, 0, "{}", answer.envelope);
    (root, answer)
}

fn page(root: &Root, arguments: &[&str]) -> String {
    let wrote = root.look(&[arguments, &["--html", "page.html"]].concat());
    assert_eq!(wrote.exit, 0, "{}{}", wrote.out, wrote.err);
    fs::read_to_string(root.path.join("page.html")).unwrap()
}

#[test]
fn a_plan_is_a_page_that_a_browser_shows_without_a_complaint() {
    let (root, _) = with_plan();
    let wrote = root.look(&["report", "plan_42", "--html", "page.html"]);
    assert!(
        wrote.out.ends_with("page.html: plan_42, 3 files.\n"),
        "{}{}",
        wrote.out,
        wrote.err
    );
    let page = opened(&root, "page.html");
    assert_eq!(page.console, Vec::<String>::new());
    for part in [
        "<title>plan_42</title>",
        "<span class=\"state good\">SUCCESS</span>",
        "3 files <span class=\"counts\"><span class=\"good\">+3</span> <span class=\"bad\">−2</span></span>",
        "<h4>notes/&lt;b&gt;.html</h4> <span class=\"soft\">created</span>",
        "<dt>done</dt><dd>a2: ",
        "<td>3</td><td></td><td>−</td><td>PORT = <del>8080</del></td>",
        "<td></td><td>3</td><td>+</td><td>PORT = <ins>9443</ins></td>",
        "<td>password: ***</td>",
        "&lt;/td&gt;&lt;/table&gt;&lt;img src=x onerror=",
        "No newline at end of file",
        "with:<br>oneact rollback agent_outputs/reports/20960224-100000_task_7</dd>",
    ] {
        assert!(page.dom.contains(part), "{part}: {}", page.dom);
    }
    for tag in ["<img", "<script", "<link", "src=\"http"] {
        assert!(!page.dom.contains(tag), "{tag}: {}", page.dom);
    }
}

#[test]
fn the_same_plan_at_the_same_time_is_the_same_page() {
    let page = || page(&with_plan().0, &["report", "plan_42"]);
    assert_eq!(page(), page());
}

#[test]
fn a_page_of_a_session_shows_plans_in_the_same_way_and_hides_their_credentials() {
    let (root, _) = with_plan();
    let alone = page(&root, &["report", "plan_42"]);
    let session = page(&root, &["replay"]);
    let table = |page: &str| {
        let from = page.find("<table class=\"diff\">").unwrap();
        let to = page.find("</table>").unwrap();
        page[from..to].to_owned()
    };
    assert_eq!(table(&alone), table(&session));
    for part in [
        "<h4>config.yaml</h4>",
        "oneact rollback agent_outputs/reports/20960224-100000_task_7",
    ] {
        assert!(session.contains(part), "{part}: {session}");
    }
    for page in [alone, session] {
        assert!(!page.contains("hunter2"), "{page}");
    }
}

#[test]
fn a_report_fits_a_terminal_and_names_each_file_with_its_lines_and_the_way_back() {
    let (root, _) = with_plan();
    let (exit, shown) = at_a_terminal(&root, "", &["report", "plan_42"]);
    assert_eq!(exit, 0, "{shown}");
    let shown = shown.replace('\r', "");
    for line in shown.lines() {
        assert!(line.width() <= 80, "{line}");
    }
    let places = [
        "  done     a1: ",
        "           changed src/server.py +1 −1\n  done     a2: ",
        "           changed config.yaml +1 −1\n  done     a3: ",
        "           created notes/<b>.html +1 −0\n  undo     Possible until 2",
        "           oneact rollback agent_outputs/reports/20960224-100000_task_7\n",
        "  files    agent_outputs/reports/20960224-100000_task_7\n",
    ];
    let places = places.map(|part| shown.find(part));
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{shown}"
    );
    assert_eq!(root.look(&["rollback", "plan_42"]).exit, 0);
    let (_, shown) = at_a_terminal(&root, "", &["report", "plan_42"]);
    assert!(
        shown.contains("  undo     Undone by a rollback at 2"),
        "{shown}"
    );
    assert!(!shown.contains("oneact rollback"), "{shown}");
    let undone = page(&root, &["report", "plan_42"]);
    for part in ["undone since", "The change was undone.", "+PORT = 9443"] {
        assert!(undone.contains(part), "{part}: {undone}");
    }
}

#[test]
fn an_error_has_a_remedy_on_the_terminal_and_on_the_page() {
    let root = Root::with_catalog("catalog = 1\n");
    fs::write(root.path.join("config.yaml"), "name: other\n").unwrap();
    let mut plan = plan();
    plan["action_plan"].as_array_mut().unwrap().remove(0);
    plan["action_plan"][0]["depends_on"] = json!([]);
    assert_eq!(root.run(&plan).exit, 2);
    let (_, shown) = at_a_terminal(&root, "", &["report", "plan_42"]);
    let shown = shown.replace('\r', "");
    let page = page(&root, &["report", "plan_42"]);
    assert!(shown.contains("failed   a2: `config.yaml`: "), "{shown}");
    assert!(
        shown.contains("error    a2: pattern_not_found\n           Nothing was changed."),
        "{shown}"
    );
    assert!(shown.contains("undo     No file was changed."), "{shown}");
    for part in [
        "a2: pattern_not_found<br>",
        "Nothing was changed. Correct the cause, and send the plan again.",
        "a3: dependency_failed<br>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
