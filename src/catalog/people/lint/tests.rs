//! Each code is found in a catalog that breaks its rule, and only there.

use serde_json::Value;

use crate::{
    catalog::{Catalog, Code},
    task::Approver,
};

use super::*;

const GOOD: &str = r#"catalog = 1
[server.s]
command = ["s"]
[capability.do_it]
description = "Do it."
effects = { destructive = false, idempotent = true, open_world = false }
mcp = { server = "s", tool = "t" }
parameter_schema_for_action = { type = "object", properties = { a = { type = "integer" } } }
"#;

/// A code, and lines for the entry that break its rule. A line replaces the line of the same key.
const BROKEN: &[(Code, &str)] = &[
    (Code::CAT001, "descripton = \"x\""),
    (Code::CAT001, "timeout = 5"),
    (Code::CAT003, "aliases = [\"DO_IT\"]"),
    (Code::CAT004, "mcp ="),
    (Code::CAT004, "file_plan = {}"),
    (
        Code::CAT010,
        "is_action = true\navailable_in = [\"USER_INVOCATION\"]",
    ),
    (
        Code::CAT011,
        "is_action = true\nparameter_schema_for_action =",
    ),
    (
        Code::CAT012,
        "is_action = true\navailable_in = [\"FSM_INTERNAL\", \"ACTION_PROPOSAL\"]",
    ),
    (Code::CAT020, "intrinsic_amplifiers = { regret = \"high\" }"),
    (
        Code::CAT020,
        "intrinsic_amplifiers = { irreversibility = \"high\" }",
    ),
    (
        Code::CAT021,
        "effects = { read_only = true, destructive = true }",
    ),
    (
        Code::CAT030,
        "intrinsic_amplifiers = { regret_potential = \"high\" }\napproval = { when = \"never\" }",
    ),
    (Code::CAT034, "approval = { when = \"always\" }"),
    (
        Code::CAT034,
        "approval = { when = \"always\", approvers = [\"uid:1\"] }",
    ),
    (Code::CAT001, "approval = { when = \"sometimes\" }"),
    (Code::CAT001, "approval = { expires = \"25h\" }"),
    (Code::CAT001, "approval = { approvers = [\"alice\"] }"),
    (Code::CAT001, "approval = { approvers = [] }"),
    (
        Code::CAT001,
        "approval = { approvers = [\"uid:2\"], quorum = 2 }",
    ),
    (Code::CAT001, "approval = { quorum = 0 }"),
    (Code::CAT040, "approval = { show = [\"b\"] }"),
    (Code::CAT031, "effects ="),
    (Code::CAT031, "effects = { destructive = false }"),
    (
        Code::CAT032,
        "effects = { read_only = true }\non_duplicate = { mode = \"reuse\" }",
    ),
    (
        Code::CAT033,
        "effects = { destructive = true, open_world = false }\non_duplicate = { mode = \"reuse\", ttl = \"5m\" }",
    ),
    (Code::CAT040, "defaults = { b = 1 }"),
    (Code::CAT040, "bind = { b = \"input.uri\" }"),
    (Code::CAT040, "retry = [{ set = { b = 1 } }]"),
    (
        Code::CAT040,
        "extract = [{ from = \"action\", pattern = \"(?P<b>x)\" }]",
    ),
    (Code::CAT041, "defaults = { a = \"one\" }"),
    (
        Code::CAT042,
        "parameter_schema_for_action = { type = \"objekt\" }",
    ),
    (
        Code::CAT042,
        "extract = [{ from = \"action\", pattern = \"(\" }]",
    ),
    (Code::CAT043, "secret = [\"/b\"]"),
    (
        Code::CAT050,
        "result = { kind = \"asset\", asset_type = \"x\" }",
    ),
    (
        Code::CAT050,
        "result = { kind = \"asset\", asset_type = \"x\", format = \"tape\" }",
    ),
    (
        Code::CAT051,
        "result = { kind = \"analysis\", asset_type = \"x\" }",
    ),
    (Code::CAT080, "description ="),
    (Code::CAT080, "description = \"# Heading\""),
    (Code::CAT080, "description = \"One\\ntwo.\""),
];

const ONE: &str = "{ id = \"one\", run = \"do_it\" }";

/// Steps that do not compile.
const FLOWS: &[&str] = &[
    "",
    "{ id = \"one\", run = \"do_them\" }",
    "{ id = \"one\", run = \"flow\" }",
    "{ id = \"one two\", run = \"do_it\" }",
    "{ id = \"one\", run = \"do_it\", depends_on = [\"one\"] }",
    "{ id = \"one\", run = \"do_it\" }, { id = \"one\", run = \"do_it\" }",
    "{ id = \"one\", run = \"do_it\", with = { b = 1 } }",
    "{ id = \"one\", run = \"do_it\", with = { a = \"{two.output}\" } }",
    "{ id = \"one\", run = \"do_it\", with = { a = \"{one.output}\" } }",
    "{ id = \"one\", run = \"do_it\", with = { a = \"{b}\" } }",
    "{ id = \"one\", run = \"do_it\" }, { id = \"two\", run = \"do_it\", with = { a = \"{one.result}\" } }",
];

/// The good catalog with a workflow.
fn flow(lines: &str, steps: &str) -> String {
    let described = if lines.starts_with("description") {
        ""
    } else {
        "description = \"Flow.\""
    };
    format!("{GOOD}[workflow.flow]\n{described}\n{lines}\nstep = [{steps}]\n")
}

#[test]
fn a_workflow_has_at_most_sixteen_steps() {
    let steps = |count: usize| {
        let steps = (0..count).map(|at| format!("{{ id = \"s{at}\", run = \"do_it\" }}"));
        steps.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(codes(&flow("", &steps(16))), []);
    assert_eq!(codes(&flow("", &steps(17))), [Code::CAT070]);
}

fn broken(lines: &str) -> String {
    let keys: Vec<&str> = lines
        .lines()
        .filter_map(|line| line.split(" =").next())
        .collect();
    let replaced = |line: &&str| !keys.contains(&line.split(" =").next().unwrap_or_default());
    let kept: Vec<&str> = GOOD.lines().filter(replaced).collect();
    let added = lines.lines().filter(|line| !line.ends_with('='));
    format!(
        "{}\n{}\n",
        kept.join("\n"),
        added.collect::<Vec<_>>().join("\n")
    )
}

fn codes(catalog: &str) -> Vec<Code> {
    let catalog = Catalog::from_text(catalog);
    let tables = catalog.tables().unwrap();
    let (findings, _) = lint(&tables, &|approver| *approver == Approver::Uid(1)).unwrap();
    findings.iter().map(|finding| finding.code).collect()
}

fn catalogs() -> Vec<(Code, String)> {
    let others = [
        (Code::CAT002, GOOD.replace("do_it", "Do-it")),
        (Code::CAT002, GOOD.replace("do_it", "improvised")),
        (
            Code::CAT002,
            flow("", ONE).replace("workflow.flow", "workflow.suggestion"),
        ),
        (Code::CAT090, GOOD.replace("do_it", "CAP-SYN-001")),
        (
            Code::CAT003,
            flow("", ONE)
                + "[capability.flow]\ndescription = \"Do.\"\neffects = { read_only = true }\nmcp = { server = \"s\", tool = \"t\" }\n",
        ),
        (
            Code::CAT071,
            flow(
                "available_in = [\"USER_INVOCATION\", \"FSM_INTERNAL\"]",
                ONE,
            ),
        ),
        (
            Code::CAT072,
            flow("effects = { read_only = true }", ONE)
                .replace("destructive = false", "destructive = true"),
        ),
        (Code::CAT011, flow("is_action = true", ONE)),
        (Code::CAT080, flow("description = \"# Flow\"", ONE)),
    ];
    let flows = FLOWS.iter().map(|steps| (Code::CAT070, flow("", steps)));
    let entries = BROKEN.iter().map(|(code, lines)| (*code, broken(lines)));
    entries.chain(others).chain(flows).collect()
}

#[test]
fn a_good_catalog_has_no_findings() {
    assert_eq!(codes(GOOD), []);
    assert_eq!(codes(&GOOD.replace("do_it", "CAP-AUD-R001")), []);
}

#[test]
fn every_code_is_found_and_alone() {
    for (code, catalog) in catalogs() {
        assert_eq!(codes(&catalog), [code], "{catalog}");
    }
    // A document and the running servers have tests of their own: `catalog/tests/application.rs` and
    // `tests/suite/catalog_live.rs`.
    let elsewhere = [Code::CAT060, Code::CAT061, Code::CAT062, Code::CAT091];
    // The error of an unknown word names every word, each between two backticks.
    let error = serde_json::from_value::<Code>(Value::from("?")).unwrap_err();
    let error = error.to_string();
    for name in error.split('`').skip(3).step_by(2) {
        let has_case = catalogs().iter().any(|(code, _)| code.name() == name);
        let is_elsewhere = elsewhere.iter().any(|code| code.name() == name);
        assert!(has_case || is_elsewhere, "{name} has no case");
    }
}

#[test]
fn a_finding_has_the_line_of_its_entry() {
    let catalog = Catalog::from_text(GOOD);
    let broken = broken("defaults = { b = 1 }");
    let broken = Catalog::from_text(&broken);
    let (findings, entries) = lint(&broken.tables().unwrap(), &|_| false).unwrap();
    assert_eq!(entries, 1);
    let place = findings[0].place.as_ref().map(|place| place.line);
    assert_eq!(place, Some(4), "{findings:?}");
    assert!(
        findings[0].text.starts_with("do_it: `defaults` names `b`"),
        "{findings:?}"
    );
    assert_eq!(
        lint(&catalog.tables().unwrap(), &|_| false)
            .unwrap()
            .0
            .len(),
        0
    );
}
