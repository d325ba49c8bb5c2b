//! `oneact schema`: the JSON Schemas of what goes in and out.

use std::process::ExitCode;

use clap::Args;

use super::print;

/// Which schema to print.
#[derive(Debug, Args)]
pub(super) struct SchemaArgs {
    /// The schema to print; without a name, the names are listed
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(SCHEMAS.map(|(name, _, _)| name)))]
    name: Option<String>,
}

/// Name, what it describes, text.
const SCHEMAS: [(&str, &str, &str); 3] = [
    (
        "task",
        "what goes in: a dispatch message, a wrapped task, or a bare one",
        include_str!("../../schemas/task.schema.json"),
    ),
    (
        "envelope",
        "what comes out: the ADL envelope",
        include_str!("../../schemas/envelope.schema.json"),
    ),
    (
        "catalog",
        "what may be done: catalog.toml, as JSON",
        include_str!("../../schemas/catalog.schema.json"),
    ),
];

/// Prints a schema, or the list of them.
pub(super) fn run(args: &SchemaArgs) -> ExitCode {
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
    let text = lines.join("\n") + "\n";
    match print(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
