//! The application document and the catalog say the same, and every difference is found (R-000-59, R-000-63).

use camino::Utf8Path;

use super::super::{Application, Catalog};
use crate::task::visible_lines;

const SHIPPED: &str = include_str!("../../../catalog.toml");
const DOCUMENT: &str = include_str!("../../../context/application.md");

fn document(text: &str) -> Application {
    Application::read(Utf8Path::new("context/application.md"), text).unwrap()
}

fn catalog(text: &str) -> Application {
    Application::of(&Catalog::from_text(text).tables().unwrap()).unwrap()
}

fn same(one: &Application, other: &Application) {
    let found = one.drift(other);
    assert!(found.is_empty(), "{found:?}");
}

fn imported(text: &str) -> String {
    document(text)
        .to_catalog(&|name| vec![name.to_owned()])
        .unwrap()
}

/// The texts of the differences of this repository's catalog from its document, after a change of the document.
fn drift(from: &str, to: &str) -> Vec<String> {
    let changed = DOCUMENT.replacen(from, to, 1);
    assert_ne!(changed, DOCUMENT, "{from}");
    let found = document(&changed).drift(&catalog(SHIPPED));
    found.into_iter().map(|finding| finding.text).collect()
}

fn table(rows: &str) -> String {
    format!("| Capability ID | MCP Server | Tool | Parameters |\n|:--|---|---|--:|\n{rows}")
}

#[test]
fn the_document_of_this_repository_is_that_of_its_catalog_r_000_135() {
    assert_eq!(DOCUMENT, catalog(SHIPPED).to_markdown());
    let found = document(DOCUMENT).drift(&catalog(SHIPPED));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn an_import_gives_the_ids_servers_tools_parameters_and_defaults_of_34_rows() {
    let text = imported(DOCUMENT);
    same(&catalog(&text), &catalog(SHIPPED));
    assert_eq!(text.matches("\n[capability.").count(), 34, "{text}");
    assert!(
        text.contains("defaults = { output_format = \"wav\", sample_rate = 16000 }"),
        "{text}"
    );
}

#[test]
fn every_kind_of_difference_is_found() {
    for (from, to, says) in [
        (
            "| media-processing | audio_ext",
            "| media | audio_ext",
            "CAP-PRE-002: server: context/application.md:20 says media, but the catalog says media-processing",
        ),
        (
            "| diarizer |",
            "| scribe |",
            "CAP-AUD-002: tool: context/application.md:25 says scribe, but the catalog says diarizer",
        ),
        (
            "min_speakers, max_speakers",
            "min_speakers",
            "CAP-AUD-002: parameters: context/application.md:25 says audio_uri, min_speakers, but the catalog says audio_uri, max_speakers, min_speakers",
        ),
        (
            "sample_rate: 16000",
            "sample_rate: 8000",
            "CAP-PRE-002: defaults: context/application.md:20 says output_format = \"wav\", sample_rate = 8000, but the catalog says output_format = \"wav\", sample_rate = 16000",
        ),
        (
            "confidence_threshold: 0.5",
            "",
            "CAP-VIS-001: defaults: context/application.md:35 says none, but the catalog says confidence_threshold = 0.5",
        ),
        (
            "| CAP-ACQ-003 |",
            "| CAP-ACQ-033 |",
            "CAP-ACQ-003: context/application.md does not map it; add a row",
        ),
        (
            "| CAP-ACQ-003 |",
            "| CAP-ACQ-033 |",
            "CAP-ACQ-033: context/application.md:14 maps it to platform_b_downloader of acquisition, but the catalog has no such entry",
        ),
    ] {
        let found = drift(from, to);
        assert!(found.iter().any(|text| text == says), "{says}\n{found:#?}");
    }
}

#[test]
fn a_table_is_read_as_people_write_it() {
    let text = "# X\n```\n| Capability ID | MCP Server | Tool | Parameters |\n| A | b | c | d |\n```\n\
        | Note | Tool | MCP server | capability id | Parameters |\r\n| :-- | - | - | - | -: |\r\n\
        | a \\| b | `cut` | **video** | CAP-CUT-001 | `from`, to |\r\n| | glue | video | CAP-CUT-002 | – |\n\n\
        | Tool | Default Parameters |\n|---|---|\n| `cut` | `from` = 1.5, to: \"a, b\", when {\"x\": [true]} |\n";
    let text = imported(text);
    let entries = text.split_once("\n[capability.").unwrap().1;
    assert_eq!(
        entries,
        "CAP-CUT-001]\nmcp = { server = \"video\", tool = \"cut\" }\n\
         defaults = { from = 1.5, to = \"a, b\", when = { x = [true] } }\n\
         parameter_schema_for_action = { type = \"object\", properties = { from = {}, to = {} } }\n\n\
         [capability.CAP-CUT-002]\nmcp = { server = \"video\", tool = \"glue\" }\n\
         parameter_schema_for_action = { type = \"object\", properties = {} }\n"
    );
    catalog(&text);
}

#[test]
fn a_backtick_in_a_default_is_a_part_of_it() {
    let text = "catalog = 1\n[server.s]\ncommand = [\"s\"]\n[capability.a]\nmcp = { server = \"s\", tool = \"t\" }\n\
        defaults = { x = \"`a`\", y = \"b`c\" }\n";
    same(&document(&catalog(text).to_markdown()), &catalog(text));
}

#[test]
fn an_unseen_character_of_a_default_is_escaped_and_read_again() {
    let text = "catalog = 1\n[server.s]\ncommand = [\"s\"]\n[capability.a]\nmcp = { server = \"s\", tool = \"t\" }\n\
        defaults = { x = \"a\\u200Bb\\u2028\\U000E0041\\u007F\" }\n";
    let page = catalog(text).to_markdown();
    assert!(
        page.ends_with("| t | x: \"a\\u200bb\\u2028\\udb40\\udc41\\u007f\" |\n"),
        "{page}"
    );
    assert_eq!(visible_lines(&page), page);
    same(&document(&page), &catalog(text));
}

#[test]
fn the_defaults_of_many_capabilities_of_one_tool_are_bounded_together() {
    let rows: Vec<String> = (0..1000)
        .map(|number| format!("| A{number} | s | t | x |\n"))
        .collect();
    let long = "x".repeat(9000);
    let text = format!(
        "{}\n| Tool | Default Parameters |\n|---|---|\n| t | x: \"{long}\" |\n",
        table(&rows.concat())
    );
    let error = Application::read(Utf8Path::new("d.md"), &text).unwrap_err();
    let says = "d.md:1006: with these of A931, all defaults together have more than";
    assert!(error.to_string().starts_with(says), "{error}");
}

#[test]
fn two_capabilities_of_one_tool_keep_their_own_defaults() {
    let text = "catalog = 1\n[server.s]\ncommand = [\"s\"]\n\
        [capability.a]\nmcp = { server = \"s\", tool = \"t\" }\ndefaults = { x = 1 }\n\
        [capability.b]\nmcp = { server = \"s\", tool = \"t\" }\ndefaults = { x = 2 }\n";
    let page = catalog(text).to_markdown();
    assert!(page.ends_with("| a | x: 1 |\n| b | x: 2 |\n"), "{page}");
    same(&document(&page), &catalog(text));
}

#[test]
fn a_document_that_cannot_be_read_names_the_line() {
    let row = "| A | s | t | x |\n";
    let defaults = |cell: &str| {
        format!(
            "{}\n| Tool | Default Parameters |\n|---|---|\n{cell}\n",
            table(row)
        )
    };
    for (text, says) in [
        (String::new(), "d.md:1: there is no table with the columns"),
        (table("| A | s | | x |\n"), "d.md:3: the row lacks"),
        (table(&row.repeat(2)), "d.md:4: A is mapped twice"),
        (
            defaults("| t | x: wav |"),
            "d.md:7: the default of `x` must be a number",
        ),
        (
            defaults(r#"| t | x: {"a": [null]} |"#),
            "d.md:7: the default of `x` must be a number",
        ),
        (defaults("| t | x |"), "d.md:7: \"x\" is no default"),
        (
            defaults("| u | x: 1 |"),
            "d.md:7: `u` has defaults, but no capability",
        ),
    ] {
        let error = Application::read(Utf8Path::new("d.md"), &text).unwrap_err();
        assert!(error.to_string().starts_with(says), "{says}\n{error}");
    }
}

#[test]
fn a_document_whose_catalog_could_not_be_read_is_refused() {
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let text = format!(
        "{}\n| Tool | Default Parameters |\n|---|---|\n| t | x: {deep} |\n",
        table("| A | s | t | x |\n")
    );
    let long = table(&format!("| A | {} | t | x |\n", "s".repeat(3 << 20)));
    for (text, says) in [(text, "max recursion depth"), (long, "at most 8 MiB")] {
        let refused = document(&text).to_catalog(&|name| vec![name.to_owned()]);
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("the printed catalog"), "{error}");
        assert!(error.contains(says), "{error}");
    }
}
