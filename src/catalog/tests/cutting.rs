//! A run parses only the entries that its task names, and reads them as if it had parsed everything.

use serde_json::{Value, json};

use super::{
    super::{
        check,
        file::{
            cut::cut,
            document::{CatalogError, Tables},
        },
    },
    Catalog, parameters, refused, resolved, task,
};

const HEAD: &str = "catalog = 1\n[server.s]\ncommand = [\"s\"]\n";
const MCP: &str = "mcp = { server = \"s\", tool = \"t\" }\n";

/// A catalog with an entry `a`, these lines, and an entry `z`.
fn between(lines: &str) -> String {
    format!("{HEAD}[capability.a]\n{MCP}{lines}\n[capability.z]\n{MCP}")
}

/// The texts of all problems that `oneact catalog check` finds.
fn problems(catalog: &str) -> Vec<String> {
    let catalog = Catalog::from_text(catalog);
    let checked = catalog.tables().map(|tables| check(&tables, &[]).problems);
    match checked {
        Ok(problems) => problems.into_iter().map(|problem| problem.text).collect(),
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn an_entry_that_no_task_names_can_be_broken_and_the_check_finds_it_with_its_line() {
    for broken in [
        "[capability.m]\nmcp = {",
        "[capability.m]\nx = \"y",
        "[capability.m]\nmcp = [capability.a.approval]\nwhen = \"always\"",
        "[capability.m]\nmcp = {} = [capability.a.approval]\nwhen = \"always\"",
    ] {
        let catalog = between(broken);
        for id in ["a", "z"] {
            assert!(resolved(&catalog, &task(&[id])).is_ok(), "{broken} {id}");
        }
        let failure = refused(&catalog, &task(&["m"]));
        assert!(
            failure.message.starts_with("catalog.toml:7: "),
            "{failure:?}"
        );
        assert_eq!(problems(&catalog), [failure.message]);
    }
}

#[test]
fn all_broken_entries_are_found_at_once() {
    let found = problems(&between("[capability.m]\nx = [\n[capability.n]\ny = \"\n"));
    let lines: Vec<_> = found.iter().map(|text| text.split(": ").next()).collect();
    assert_eq!(lines.len(), 2, "{found:?}");
    assert!(found[1].starts_with("catalog.toml:9: "), "{found:?}");
}

#[test]
fn an_id_that_occurs_twice_is_an_error_wherever_it_is_written() {
    let catalog = between(&format!(
        "[capability.b]\n{MCP}[capability.m.retry]\n[capability.a]\n{MCP}"
    ));
    let failure = refused(&catalog, &task(&["a"]));
    assert_eq!(
        failure.message,
        "catalog.toml:9: duplicate key; remove one of the two"
    );
    assert_eq!(problems(&catalog), [failure.message]);
}

#[test]
fn the_parts_of_an_entry_are_read_together_with_their_own_lines() {
    let catalog = between(&format!(
        "[capability.b]\n{MCP}[defaults]\ntimeout = \"5s\"\n[capability.a.defaults]\nx = 1"
    ));
    assert_eq!(parameters(&catalog, &task(&["a"])), json!({"x": 1}));
    let catalog = between(&format!(
        "[capability.b]\n{MCP}[capability.a.result]\nkimd = \"metadata\""
    ));
    let message = refused(&catalog, &task(&["a"])).message;
    assert!(message.starts_with("catalog.toml:9: "), "{message}");
}

#[test]
fn an_error_between_the_entries_has_its_line() {
    for (lines, line) in [
        ("[server.q]\ncommand = [\n[capability.b]", 7),
        ("[capability.b]\n[defaults]\ntimeout = \"soon\"", 8),
        (
            "[capability.b]\n[defaults]\napproval = { when = \"never ever\" }",
            8,
        ),
        ("[capability.b]\n[server.s]\ncommand = []", 7),
        ("[capability.b]\n[profle.x]", 7),
    ] {
        let message = refused(&between(lines), &task(&["z"])).message;
        let place = format!("catalog.toml:{line}: ");
        assert!(message.starts_with(&place), "{lines}: {message}");
    }
}

#[test]
fn only_plain_headers_are_cut() {
    for (lines, plain) in [
        ("[capability.m]", true),
        ("  [capability.m] # why", true),
        ("[[capability.m.retry]]", true),
        ("[capability.m.\"x.y\"]", true),
        ("# \"[capability.m]", true),
        ("x = \"[capability.m]\"", true),
        ("[profile.p]", true),
        ("[capability.\"m\"]", false),
        ("[capability . m]", false),
        ("[capability.m .result]", false),
        ("[ capability.m]", false),
        ("\t[ capability.m]", false),
        ("[\"capability\".m]", false),
        ("[capability]", false),
        ("[ profile.p]", false),
        ("[\"ledger\"]", false),
        ("[other]", false),
        ("x = [\n  [1]]", false),
        ("x = [\n  [true]]", false),
        ("x = \"\"\"\n[capability.m]\"\"\"", false),
        ("x = [[\"a\"], [\"b\"]]", true),
        ("[capability.m] [capability.z]", false),
        ("x = { y = [1, [2], { z = [3] }] } # [", true),
        ("x = \"\\\"[capability.m]\" # [server.y]", true),
        ("x = '''\n[capability.m]'''", false),
    ] {
        assert_eq!(cut(&between(lines)).is_some(), plain, "{lines}");
    }
}

/// What the tables say; `Err` if anything cannot be read.
fn said(tables: Result<Tables<'_>, CatalogError>) -> Result<Vec<Value>, CatalogError> {
    let tables = tables?;
    let mut all = Vec::new();
    for group in ["server", "capability"] {
        let mut names = tables.names(group)?;
        // A parent whose header comes after its child moves in the order of the parser.
        names.sort_unstable();
        for name in names {
            if let Some(named) = tables.named(group, name)? {
                let value: Value = named.read()?;
                all.push(json!([group, name, named.place().line, value]));
            }
        }
    }
    all.push(json!(tables.get::<Value>("defaults")?));
    Ok(all)
}

#[test]
fn a_cut_text_says_the_same_as_the_whole_text() {
    const LINES: [&str; 30] = [
        "[capability.a]",
        "[capability.b]",
        "[capability.a.t]",
        "[[capability.a.r]]",
        "[[capability.b]]",
        "[capability.\"a\"]",
        "[ capability.b ]",
        "[capability]",
        "\t[capability.c]",
        "[capability.a.\"q.r\"] # [",
        "[server.s]",
        "[server.t.u]",
        "[defaults]",
        "[true]",
        "[1, 2],",
        "]",
        "x = 1",
        "y = [",
        "z = { x = [",
        "]}",
        "u.v = \"[capability.c]\"",
        "# '''",
        "m = '''",
        "'''",
        "n = \"\"\"",
        "\"\"\"",
        "capability.d.x = 1",
        "\"capability\".e = {}",
        "c.x = \"",
        "",
    ];
    let (mut seed, mut good) = (7_u64, 0);
    for turn in 0..10_000 {
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let end = ["\n", "\r\n"][next(2)];
        let lines = (0..=next(7)).map(|_| LINES[next(LINES.len())]);
        let lines: Vec<&str> = ["catalog = 1"].into_iter().chain(lines).collect();
        let text = lines.join(end);
        let catalog = Catalog::from_text(&text);
        match (said(catalog.whole()), said(catalog.tables())) {
            (Ok(whole), Ok(cut)) => {
                assert_eq!(whole, cut, "{turn}: {text}");
                good += 1;
            }
            (Err(_), Err(_)) => {}
            (whole, cut) => panic!("{turn}: {text}\n{whole:?}\n{cut:?}"),
        }
    }
    assert!(good > 250, "only {good} texts were catalogs");
}
