//! `oneact schema`, `completions` and `man`, made from the texts of `--help` and from the schemas.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use super::ended::{Stop, printed, stop};

#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The schema to print [default: a list of the schemas]
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(SCHEMAS.map(|(name, _, _)| name)))]
    name: Option<String>,
}

pub(super) const CATALOG: &str = include_str!("../../schemas/catalog.schema.json");

/// Name, description, text.
const SCHEMAS: [(&str, &str, &str); 7] = [
    (
        "task",
        "the input: a dispatch message, a wrapped task or a bare task",
        include_str!("../../schemas/task.schema.json"),
    ),
    (
        "plan",
        "a plan (specification 001): every type of operation with its parameters",
        include_str!("../../schemas/plan.schema.json"),
    ),
    (
        "envelope",
        "the output: the ADL envelope",
        include_str!("../../schemas/envelope.schema.json"),
    ),
    (
        "result",
        "the output of `--reply result`: the result data, or an error",
        include_str!("../../schemas/result.schema.json"),
    ),
    ("catalog", "the catalog: catalog.toml, as JSON", CATALOG),
    (
        "doctor",
        "the output of `oneact doctor --json`",
        include_str!("../../schemas/doctor.schema.json"),
    ),
    (
        "ledger",
        "the output of `oneact sessions`, `history`, `show` and `replay` as JSON",
        include_str!("../../schemas/ledger.schema.json"),
    ),
];

pub(super) fn schema(args: &SchemaArgs) -> ExitCode {
    let lines: Vec<String> = match &args.name {
        Some(wanted) => SCHEMAS
            .iter()
            .filter(|(name, _, _)| name == wanted)
            .map(|(_, _, text)| text.trim_end().to_owned())
            .collect(),
        None => SCHEMAS
            .iter()
            .map(|(name, what, _)| format!("{name:<10} {what}"))
            .collect(),
    };
    printed(lines.join("\n") + "\n", 0)
}

#[derive(Debug, Args)]
pub(super) struct CompletionArgs {
    /// The shell. Load the script as the manual of the shell says, e.g. for bash: source <(oneact completions
    /// bash)
    #[arg(value_enum)]
    shell: Shell,
}

pub(super) fn completions(args: &CompletionArgs, mut cli: Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "oneact", &mut script);
    printed(script, 0)
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The subcommand whose page is printed [default: the page of oneact itself]
    #[arg(value_name = "SUBCOMMAND")]
    verb: Option<String>,
}

/// Prints a page as roff: `oneact man | man -l -`.
pub(super) fn man(args: &ManArgs, cli: Command) -> Result<ExitCode, Stop> {
    let page = match &args.verb {
        None => cli,
        Some(name) => {
            let verb = cli.find_subcommand(name).ok_or_else(|| {
                stop(2)(format!(
                    "there is no subcommand `{name}`; `oneact --help` lists them"
                ))
            })?;
            // The name by which oneact's own page refers to this page.
            verb.clone()
                .display_name(format!("oneact-{name}"))
                .bin_name(format!("oneact {name}"))
        }
    };
    let mut roff = Vec::new();
    Man::new(page).render(&mut roff)?;
    Ok(printed(roff, 0))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::task::{Fault, Format, Risk};

    use super::*;

    fn schema(wanted: &str) -> Value {
        let text = SCHEMAS.iter().find(|(name, _, _)| *name == wanted);
        serde_json::from_str(text.unwrap().2).unwrap()
    }

    /// The strings of the list at that place; null is left out.
    fn listed(schema: &Value, pointer: &str) -> Vec<String> {
        let list = schema.pointer(pointer).unwrap().as_array().unwrap();
        let texts = list.iter().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    #[test]
    fn every_schema_is_a_good_one_and_bears_its_name() {
        for (name, _, _) in SCHEMAS {
            let schema = schema(name);
            jsonschema::meta::validate(&schema).unwrap();
            jsonschema::validator_for(&schema).unwrap();
            assert_eq!(schema["$id"], format!("urn:oneact:schema:{name}"));
        }
    }

    #[test]
    fn the_schemas_list_the_failures_of_the_one_error_table() {
        let table: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        let envelope = schema("envelope");
        assert_eq!(
            listed(&envelope, "/$defs/oneact/properties/fault/enum"),
            table
        );
        let catalog = schema("catalog");
        assert_eq!(listed(&catalog, "/$defs/failure_class/enum"), table);
        let own: Vec<&str> = Fault::OWN.iter().map(|fault| fault.name()).collect();
        let class = "/$defs/capability/properties/failure/items/properties/class";
        assert_eq!(listed(&catalog, &format!("{class}/not/enum")), own);
    }

    #[test]
    fn the_envelopes_schema_gives_each_failure_its_code() {
        let envelope = schema("envelope");
        for fault in Fault::ALL.iter().copied() {
            let code = serde_json::to_value(fault.code()).unwrap();
            let rule = format!("fault_{}", code.as_str().unwrap().to_lowercase());
            let rule = &envelope["$defs"][&rule].to_string();
            assert!(
                rule.contains(&format!("{:?}", fault.name())),
                "{}",
                fault.name()
            );
        }
    }

    #[test]
    fn the_catalogs_schema_lists_the_formats_that_can_be_checked() {
        let formats = listed(
            &schema("catalog"),
            "/$defs/result/properties/format/anyOf/0/enum",
        );
        assert_eq!(formats, Format::names());
    }

    #[test]
    fn the_schemas_list_the_risks() {
        let risks = Risk::ALL.map(Risk::name);
        for shown in ["gate", "waiting_approval"] {
            let place = format!("/$defs/{shown}/properties/risk/enum");
            assert_eq!(listed(&schema("envelope"), &place), risks);
        }
        let when = schema("catalog")["$defs"]["approval"]["properties"]["when"]["pattern"].take();
        let (_, higher) = risks.split_first().unwrap();
        let higher = format!("^(always|never|risk *>= *({}))$", higher.join("|"));
        assert_eq!(when, higher);
    }

    #[test]
    fn the_catalog_of_this_repository_fits_the_catalogs_schema() {
        let table: toml::Table = include_str!("../../catalog.toml").parse().unwrap();
        let catalog = serde_json::to_value(table).unwrap();
        let validator = jsonschema::validator_for(&schema("catalog")).unwrap();
        let problems: Vec<String> = validator
            .iter_errors(&catalog)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn the_tasks_schema_knows_an_mcp_request() {
        let task = jsonschema::validator_for(&schema("task")).unwrap();
        let fits = |text: &str| task.is_valid(&serde_json::from_str(text).unwrap());
        for request in [
            r#"{"actionId": "C", "args": {"a": 1}, "sessionId": "s", "taskId": "t", "context": {}}"#,
            r#"{"action": "C", "args": {}, "salt": "2", "idempotency_key": "k"}"#,
            r#"{"dispatch": {"task_id": "t", "capability_ids": ["C"], "salt": "2"}}"#,
        ] {
            assert!(fits(request), "{request}");
        }
        for wrong in [
            r#"{"actionId": "C", "args": []}"#,
            r#"{"actionId": "", "args": {}}"#,
            r#"{"actionId": "C", "salt": 2}"#,
            r#"{"action": "C"}"#,
        ] {
            assert!(!fits(wrong), "{wrong}");
        }
    }
}
