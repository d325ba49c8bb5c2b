//! What must not happen twice, seen from outside: what happened and was not good, and answers that are gone.

use std::{fmt::Display, fs};

use serde_json::{Value, json};

use crate::program::{Answer, ONEACT, Root, run};

const CATALOG: &str = r#"
catalog = 1
[server.counter]
command = ["python3", "servers/counter.py", "counted"]
[capability.sent]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata" }
[capability.receipted]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata", schema = { required = ["receipt"] } }
[capability.silent]
mcp = { server = "counter", tool = "happen" }
defaults = { what = "mail" }
result = { kind = "metadata", schema = { required = ["receipt"] } }
[capability.plain]
mcp = { server = "counter", tool = "happen" }
result = { kind = "metadata" }
[capability.made]
effects = { destructive = false, open_world = false }
mcp = { server = "counter", tool = "happen" }
result = { kind = "asset", asset_type = "audio_track", format = "wav", take = ["/output_uri"] }
[capability.limited]
effects = { read_only = true, open_world = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "fails" }
result = { kind = "metadata" }
[capability.refused]
effects = { idempotent = false, destructive = false }
mcp = { server = "counter", tool = "happen" }
defaults = { what = "fails" }
result = { kind = "metadata" }
"#;

fn request(capabilities: &[&str], task: &str, attempt: u32) -> Value {
    json!({
        "metadata": {"session_id": "s", "request_id": "r"},
        "dispatch": {"task_id": task, "attempt": attempt, "capability_ids": capabilities},
    })
}

fn happened(root: &Root) -> Vec<String> {
    let text = fs::read_to_string(root.path.join("counted")).unwrap_or_default();
    text.lines().map(ToOwned::to_owned).collect()
}

fn oneact(root: &Root, arguments: &[&str]) {
    let done = root.command().args(arguments).output().unwrap();
    assert!(done.status.success(), "{arguments:?}: {done:?}");
}

fn valid(answer: &Answer) {
    let schema = include_str!("../../schemas/envelope.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let misfits: Vec<String> = schema
        .iter_errors(&answer.envelope)
        .map(|misfit| format!("{}: {misfit}", misfit.instance_path()))
        .collect();
    assert!(misfits.is_empty(), "{misfits:?} in {}", answer.envelope);
}

#[test]
fn what_happened_and_is_not_good_is_nobodys_to_repeat_until_a_person_has_spoken() {
    for (capabilities, fault) in [(&["receipted"][..], "result_incomplete")] {
        let root = Root::with_catalog(CATALOG);
        let first = root.run(&request(capabilities, "t1", 1));
        assert_eq!((first.exit, first.fault()), (1, &json!(fault)));
        assert_eq!(first.at("/error/recoverable"), &json!(false));
        let operation = first.at("/output/content/oneact/operation_id");
        let operation = operation.as_str().unwrap();
        let said = first.at("/error/error_message").as_str().unwrap();
        let advice = format!("must not happen twice. `oneact resolve {operation}` settles it.");
        assert!(said.contains("happened before that"), "{said}");
        assert!(said.ends_with(&advice), "{said}");
        valid(&first);
        for (task, attempt) in [("t1", 1), ("t1", 2), ("t2", 1)] {
            let next = root.run(&request(capabilities, task, attempt));
            assert_eq!((next.exit, next.fault()), (1, &json!("outcome_unknown")));
        }
        assert_eq!(happened(&root)[0], "mail");
        assert_eq!(happened(&root).len(), capabilities.len());
        oneact(&root, &["verify"]);
        oneact(
            &root,
            &["resolve", operation, "--did-not", "-m", "not there"],
        );
        root.run(&request(capabilities, "t1", 2));
        assert_eq!(happened(&root).len(), 2 * capabilities.len());
        oneact(&root, &["verify"]);
    }
}

/// The same after SIGKILL is in `crash`. The entry does not say `idempotent`.
#[test]
fn a_call_that_succeeded_before_a_signal_is_not_sent_again() {
    let root = Root::with_catalog(CATALOG);
    let asked = |what: &str, task: &str| {
        let mut asked = request(&["made"], task, 1);
        asked["dispatch"]["parameters"] = json!({"what": what});
        asked["dispatch"]["output_refs_expected"] = json!(["store_1"]);
        asked["dispatch"]["idempotency_key"] = json!("k");
        root.run(&asked)
    };
    let first = asked("huge", "t1");
    assert_eq!(first.state(), "cancelled", "{}", first.envelope);
    assert_eq!(first.at("/error/recoverable"), &json!(false));
    valid(&first);
    for (what, task) in [("huge", "t1"), ("mail", "t1"), ("huge", "t2")] {
        let next = asked(what, task);
        assert_eq!(next.fault(), "outcome_unknown", "{}", next.envelope);
    }
    assert_eq!(happened(&root), ["huge"]);
    oneact(&root, &["verify"]);
}

/// An answer that cannot be read, and a time-out that somebody behind the server reports: by the tool, and as a
/// gateway does.
#[test]
fn an_answer_that_leaves_open_what_happened_is_nobodys_to_repeat() {
    for (what, fault) in [
        ("late", "timeout"),
        ("gateway", "timeout"),
        ("late, node", "timeout"),
        ("late, limited", "rate_limited"),
        ("late, structured", "timeout"),
        ("gateway, elsewhere", "timeout"),
        ("gateway, data", "tool_error"),
        ("gateway, late", "tool_error"),
        ("gateway, long", "tool_error"),
    ] {
        let root = Root::with_catalog(CATALOG);
        let asked = |task: &str| {
            let mut asked = request(&["sent"], task, 1);
            asked["dispatch"]["parameters"] = json!({"what": what});
            root.run(&asked)
        };
        let first = asked("t1");
        valid(&first);
        assert_eq!((first.exit, first.fault()), (1, &json!(fault)), "{what}");
        let effect = first.at("/output/content/oneact/effect");
        assert_eq!(effect, &json!("unknown"), "{what}");
        let next = asked("t2");
        assert_eq!((next.exit, next.fault()), (1, &json!("outcome_unknown")));
        assert_eq!(happened(&root), [what]);
    }
}

fn says(text: &str) -> Value {
    json!({"result": {"isError": true, "content": [{"type": "text", "text": text}]}})
}

fn error(code: i64, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}

fn with(mut answer: Value, place: &str, value: Value) -> Value {
    let (parent, name) = place.rsplit_once('/').unwrap();
    answer.pointer_mut(parent).unwrap()[name] = value;
    answer
}

/// The fault and the effect of a once-only call that fails so, under this rule. If the effect is unknown, the message
/// says so, and the call is not made again.
fn comes_to((pattern, class): (&str, &str), answer: impl Display) -> (String, String) {
    let (before, after) = CATALOG
        .split_once("defaults = { what = \"mail\" }")
        .unwrap();
    let rule = format!("failure = [{{ match = '{pattern}', class = '{class}' }}]");
    let root = Root::with_catalog(&format!("{before}{rule}{after}"));
    let asked = |attempt: u32| {
        let mut asked = request(&["sent"], "t1", attempt);
        asked["dispatch"]["parameters"] = json!({"what": answer.to_string()});
        root.run(&asked)
    };
    let first = asked(1);
    valid(&first);
    let effect = first.at("/output/content/oneact/effect").as_str().unwrap();
    if effect == "unknown" {
        let about = format!("{rule} {}", first.envelope);
        assert_eq!(first.exit, 1, "{about}");
        let operation = first.at("/output/content/oneact/operation_id");
        let advice = format!(
            "It is unknown whether it took effect, and it must not happen twice: a person has to check. \
             `oneact resolve {}` settles it.",
            operation.as_str().unwrap()
        );
        let said = first.at("/error/error_message").as_str().unwrap();
        assert!(said.ends_with(&advice), "{said}");
        assert_eq!(asked(2).fault(), "outcome_unknown", "{about}");
        assert_eq!(happened(&root).len(), 1, "{about}");
    }
    let fault = first.fault().as_str().unwrap();
    (fault.to_owned(), effect.to_owned())
}

#[test]
fn a_rule_that_matches_another_part_of_an_answer_does_not_hide_a_time_out() {
    let late = || says("Request timed out");
    let (x, y) = ("x".repeat(20_000), "y".repeat(20_000));
    for answer in [
        with(late(), "/result/structuredContent", json!({"quota": 5})),
        with(
            error(-32603, "Request timed out"),
            "/error/data",
            json!({"quota": 1}),
        ),
        says(&format!("Request timed out {x} quota {y}")),
    ] {
        let came = comes_to(("quota", "rate_limited"), &answer);
        assert_eq!(came, ("timeout".into(), "unknown".into()), "{answer}");
    }
}

#[test]
fn a_rule_that_decides_is_heard() {
    let late = || says("Request timed out");
    for (rule, answer, fault, effect) in [
        (("timed out$", "tool_error"), late(), "tool_error", "done"),
        (
            ("^Request timed", "tool_error"),
            with(late(), "/result/structuredContent", json!({"x": 1})),
            "tool_error",
            "done",
        ),
        (
            ("server `counter`", "tool_error"),
            error(-32603, "timed out"),
            "tool_error",
            "done",
        ),
        (
            ("quota", "rate_limited"),
            says("quota exceeded"),
            "rate_limited",
            "done",
        ),
        (
            ("Connection closed", "timeout"),
            error(-32000, "Connection closed"),
            "timeout",
            "unknown",
        ),
        (
            ("pending", "outcome_unknown"),
            says("still pending"),
            "outcome_unknown",
            "unknown",
        ),
    ] {
        let came = comes_to(rule, &answer);
        assert_eq!(came, (fault.into(), effect.into()), "{rule:?} {answer}");
    }
}

#[test]
fn without_a_rule_the_words_of_every_part_decide() {
    let resource =
        json!([{"type": "resource", "resource": {"uri": "x:y", "text": "it timed out"}}]);
    let data = with(error(-32603, "failed"), "/error/data", json!("timed\nout"));
    let width = json!({"width": 408});
    for (answer, fault, effect) in [
        (error(504, "failed"), "timeout", "unknown"),
        (error(-32603, "4 DEADLINE_EXCEEDED"), "timeout", "unknown"),
        (says("net::ERR_CONNECTION_TIMED_OUT"), "timeout", "unknown"),
        (data, "tool_error", "unknown"),
        (
            error(-32021, "Request timed out"),
            "input_required",
            "unknown",
        ),
        (error(-32022, "Request timed out"), "tool_error", "unknown"),
        (
            with(
                error(-32022, "no"),
                "/error/data",
                json!({"x": "DEADLINE_EXCEEDED"}),
            ),
            "tool_error",
            "unknown",
        ),
        (
            with(says(""), "/result/content", resource),
            "tool_error",
            "unknown",
        ),
        (
            says("syntax error in line 504 of the template"),
            "tool_error",
            "done",
        ),
        (
            with(says("bad name"), "/result/structuredContent", width),
            "tool_error",
            "done",
        ),
    ] {
        let came = comes_to(("no such words", "tool_error"), &answer);
        assert_eq!(came, (fault.into(), effect.into()), "{answer}");
    }
}

#[test]
fn no_size_and_no_kind_of_block_hides_a_time_out() {
    let failed = |rest: &str| format!(r#"{{"result":{{"isError":true,{rest}}}}}"#);
    let block = |block: &str| failed(&format!(r#""content":[{block}]"#));
    let data = |data: &str| failed(&format!(r#""content":[],"structuredContent":{{{data}}}"#));
    let text = |text: &str| block(&format!(r#"{{"type":"text","text":"{text}"}}"#));
    let embedded = |of: &str| block(&format!(r#"{{"type":"resource","resource":{{{of}}}}}"#));
    let of_rpc =
        |data: &str| format!(r#"{{"error":{{"code":-32000,"message":"no","data":{data}}}}}"#);
    for (fault, answer) in [
        (
            "timeout",
            data(r#""pad":"@","cause":"t\u0069med o\u0075t""#),
        ),
        ("timeout", data(r#""cause":"t\u0069med out","end":"@""#)),
        ("tool_error", data(r#""pad":"@","half":"\ud800""#)),
        ("tool_error", text(r"timed out \ud800 @")),
        ("tool_error", block(r#"{"text":"timed out"}"#)),
        ("tool_error", data(r#""cause":"timed out","cause":"no""#)),
        (
            "tool_error",
            block(r#"{"type":"text","text":"timed out","text":"no"}"#),
        ),
        ("tool_error", of_rpc(r#"{"x":"timed out","x":"no"}"#)),
        (
            "tool_error",
            of_rpc(r#"{"a":[{"x":"timed out","\u0078":"no"}]}"#),
        ),
        ("tool_error", block(r#"{"type":"Text","text":"timed out"}"#)),
        ("tool_error", embedded(r#""text":"timed out""#)),
        (
            "tool_error",
            embedded(r#""uri":"x:y","blob":"AA==","text":"timed out""#),
        ),
    ] {
        let came = comes_to(("no such words", "tool_error"), &answer);
        assert_eq!(came, (fault.into(), "unknown".into()), "{answer}");
    }
    // The second text would be a failure by this rule, if it could be read.
    let any = ("FAILED', on = 'any", "tool_error");
    let half = r#"{"result":{"content":[{"type":"text","text":"well"},{"type":"text","text":"FAILED \ud800 @"}]}}"#;
    assert_eq!(comes_to(any, half), ("tool_error".into(), "unknown".into()));
}

#[test]
fn a_call_of_unknown_outcome_is_not_repeated_where_duplicates_are() {
    let repeat = "on_duplicate = { mode = 'repeat' }\ndefaults = { what = \"mail\" }";
    let catalog = CATALOG.replacen("defaults = { what = \"mail\" }", repeat, 1);
    let root = Root::with_catalog(&catalog);
    let asked = |task: &str, attempt: u32, what: &str| {
        let mut asked = request(&["sent"], task, attempt);
        asked["dispatch"]["parameters"] = json!({"what": what});
        root.run(&asked)
    };
    let first = asked("t1", 1, "gateway");
    assert_eq!((first.exit, first.fault()), (1, &json!("timeout")));
    assert_eq!(asked("t1", 2, "gateway").fault(), "outcome_unknown");
    // Another task is another delivery, and another request is not concerned.
    assert_eq!(asked("t2", 1, "gateway").fault(), "timeout");
    assert_eq!(asked("t1", 3, "mail").exit, 0);
    assert_eq!(happened(&root), ["gateway", "gateway", "mail"]);
    let operation = first.at("/output/content/oneact/operation_id");
    oneact(
        &root,
        &["resolve", operation.as_str().unwrap(), "--did-not"],
    );
    assert_eq!(asked("t1", 2, "gateway").fault(), "timeout");
    assert_eq!(asked("t1", 4, "mail").exit, 0, "a success is repeated");
    let calls = ["gateway", "gateway", "mail", "gateway", "mail"];
    assert_eq!(happened(&root), calls);
    oneact(&root, &["verify"]);
}

#[test]
fn an_answer_that_came_with_that_of_the_call_before_does_not_count() {
    let eager = "parameter_schema_for_action = { type = 'object' }\ntimeout = '2s'\nmcp";
    let catalog = CATALOG.replacen("mcp", eager, 2);
    let root = Root::with_catalog(&catalog.replacen("\"mail\"", "\"eager\"", 1));
    let answer = root.run(&request(&["sent", "receipted"], "t1", 1));
    assert_eq!((answer.exit, answer.fault()), (1, &json!("timeout")));
    assert_eq!(happened(&root), ["eager"]);
}

#[test]
fn a_tool_whose_asset_cannot_be_stored_is_not_called() {
    let asset = "result = { kind = \"asset\", asset_type = \"receipt\", format = \"json\", take = [\"data\"] }";
    let catalog = CATALOG.replacen("result = { kind = \"metadata\" }", asset, 1);
    let root = Root::with_catalog(&catalog);
    let mut asked = request(&["sent"], "t1", 1);
    asked["dispatch"]["output_refs_expected"] = json!(["derived_1"]);
    let session = root.path.join("agent_outputs/assets/s");
    fs::create_dir_all(session.parent().unwrap()).unwrap();
    fs::write(&session, "").unwrap();
    let first = root.run(&asked);
    valid(&first);
    assert_eq!(
        first.at("/output/content/oneact/effect"),
        "none",
        "{}",
        first.envelope
    );
    assert!(happened(&root).is_empty());
    fs::remove_file(&session).unwrap();
    asked["dispatch"]["attempt"] = json!(2);
    assert_eq!(root.run(&asked).exit, 0);
    assert_eq!(happened(&root), ["mail"]);
}

#[test]
fn a_check_that_fails_is_worth_another_attempt_where_the_entry_says_nothing_r_000_102() {
    let root = Root::with_catalog(CATALOG);
    let first = root.run(&request(&["silent"], "t1", 1));
    assert_eq!(
        (first.exit, first.fault()),
        (75, &json!("result_incomplete"))
    );
    root.run(&request(&["silent"], "t1", 2));
    assert_eq!(happened(&root), ["mail", "mail"]);
}

/// A tool of the Python SDK that returns nothing answers with an empty list.
#[test]
fn a_call_that_may_change_something_is_done_even_if_its_answer_is_empty() {
    let link = json!({"type": "resource_link", "uri": "mail://1", "name": "sent"});
    for (answer, parts_left_out) in [
        (json!({"content": []}), 0),
        (json!({"content": [link]}), 1),
        (json!({"content": [{"type": "text", "text": "{}"}]}), 0),
        (json!({"content": [], "structuredContent": {}}), 0),
        // Structured content often repeats the other parts.
        (json!({"content": [link], "structuredContent": {}}), 0),
    ] {
        let root = Root::with_catalog(CATALOG);
        let asked = |capability: &str, task: &str, attempt: u32| {
            let mut asked = request(&[capability], task, attempt);
            let answer = json!({"result": answer}).to_string();
            asked["dispatch"]["parameters"] = json!({"what": answer});
            root.run(&asked)
        };
        let first = asked("plain", "t1", 1);
        valid(&first);
        assert_eq!((first.exit, first.state()), (0, &json!("done")), "{answer}");
        let notes = first.at("/audit/compliance_notes").to_string();
        let told = notes.matches("has parts that are no text (1)").count();
        assert_eq!(told, parts_left_out, "{notes}");
        let second = asked("plain", "t1", 2);
        assert_eq!((second.exit, second.state()), (0, &json!("suppressed")));
        assert_eq!(happened(&root).len(), 1);
        assert_eq!(asked("limited", "t2", 1).exit, 0, "{answer}");
    }
}

#[test]
fn a_tool_that_says_it_failed_has_not_done_it() {
    let root = Root::with_catalog(CATALOG);
    let first = root.run(&request(&["refused"], "t1", 1));
    assert_eq!((first.exit, first.fault()), (75, &json!("rate_limited")));
    root.run(&request(&["refused"], "t1", 2));
    assert_eq!(happened(&root), ["fails", "fails"]);
}

#[test]
fn that_it_was_done_is_known_when_the_answer_was_pruned() {
    let root = Root::with_catalog(CATALOG);
    let mut command = root.command();
    command.args(["--clock", "2020-02-24T10:00:00+00:00[UTC]"]);
    let first = run(command, request(&["sent"], "t1", 1).to_string().as_bytes());
    assert_eq!(first.exit, 0, "{}", first.envelope);
    oneact(&root, &["prune", "--older", "90d"]);
    let suppressed = root.run(&request(&["sent"], "t2", 1));
    valid(&suppressed);
    assert_eq!(
        (suppressed.exit, suppressed.state()),
        (0, &json!("suppressed")),
        "{}",
        suppressed.envelope
    );
    assert_eq!(suppressed.at("/error/has_error"), &json!(false));
    assert_eq!(suppressed.result_data(), &Value::Null);
    let notes = suppressed.at("/audit/compliance_notes").to_string();
    assert!(notes.contains("pruned: the answer was pruned"), "{notes}");
    // The same delivery is not told that it failed, either.
    let replayed = root.run(&request(&["sent"], "t1", 1));
    valid(&replayed);
    assert_eq!((replayed.exit, replayed.state()), (0, &json!("replayed")));
    assert_eq!(replayed.result_data(), &Value::Null);
    let notes = replayed.at("/audit/compliance_notes").to_string();
    assert!(notes.contains("pruned: the answer was pruned"), "{notes}");
    assert_eq!(happened(&root), ["mail"]);
    oneact(&root, &["verify"]);
}

/// strace fails the calls that sync the ledger: each one alone, and all from each one on.
#[test]
fn whichever_sync_of_the_ledger_fails_a_once_only_call_happens_once_and_needs_no_person() {
    let root = Root::with_catalog(CATALOG);
    let log = root.path.join("calls");
    let asked = |what: &str| {
        json!({
            "metadata": {"session_id": "s", "request_id": what},
            "task_id": what, "capability_ids": ["sent"], "parameters": {"what": what},
        })
    };
    // The ledger is made.
    assert_eq!(root.run(&asked("first")).exit, 0);
    let mut refused = 0;
    for span in ["", "+"] {
        for number in 1.. {
            let what = format!("call-{number}{span}");
            let mut command = root.within("strace");
            command
                .args(["-f", "-qq", "-o", log.as_str(), "-etrace=fdatasync"])
                .arg(format!("-einject=fdatasync:error=EIO:when={number}{span}"))
                .arg(ONEACT);
            let task = asked(&what);
            let count = || happened(&root).iter().filter(|it| **it == what).count();
            let first = run(command, task.to_string().as_bytes());
            assert_eq!(first.exit == 0, count() == 1, "{}", first.envelope);
            refused += usize::from(first.exit != 0);
            let again = root.run(&task);
            assert_eq!(again.exit, 0, "{what}: {}", again.envelope);
            assert_eq!(count(), 1, "{what}");
            if !fs::read_to_string(&log).unwrap().contains("(INJECTED)") {
                assert!(number > 1);
                break;
            }
        }
    }
    assert!(refused > 0);
    oneact(&root, &["verify"]);
}
