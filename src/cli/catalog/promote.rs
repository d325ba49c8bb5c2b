//! `oneact catalog promote`: adds a workflow to the catalog that repeats what an improvised action did (R-003-09). Only a
//! person does this, and the workflow is no action until the person says so.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::{
    super::{
        ended::{Stop, printed, stop},
        printing::columns,
        settings::FormArgs,
        terminal::{agreed, readable},
    },
    change::CatalogFile,
};
use crate::{
    catalog::{Promoted, promote},
    host::{self, Host, Interrupts},
    people::trace,
    task::visible,
};

#[derive(Debug, Args)]
pub(crate) struct PromoteArgs {
    /// The id of the operation of the improvised action, or its first characters
    #[arg(value_name = "OPERATION")]
    operation: String,
    /// The id of the new workflow
    #[arg(long = "as", value_name = "ID")]
    id: String,
    /// Do not ask at the terminal
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &PromoteArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let project = args.form.places.project()?;
    let path = &project.catalog;
    let mut reading = project.reading(&host).map_err(stop(2))?;
    let trace = trace(&mut reading, &args.operation).map_err(stop(2))?;
    let before = CatalogFile::read(path)?;
    let at = host.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let promoted = promote((path, &before.text), &args.id, &trace, (&project.root, &at));
    let Promoted { text, catalog } = promoted.map_err(stop(2))?;
    if !args.yes {
        if !host::input_is_a_terminal() {
            let why =
                "there is no terminal to ask at; a person who has read the calls can give --yes";
            return Err(stop(2)(why));
        }
        let shown = readable(&text, columns());
        let place = visible(path.as_str());
        let question = format!("{shown}\nAdd this to {place}? [y/N] ");
        if !agreed(&question, host.interrupts()) {
            return Ok(printed("Nothing was written.\n", 1));
        }
    }
    before.replace(&catalog)?;
    let steps = trace.calls.len();
    let text = || {
        let (id, path) = (visible(&args.id), visible(path.as_str()));
        format!(
            "Added [workflow.{id}] with {steps} steps to {path}.\n\
             Read it, describe it, and try it once. To offer it to models, set is_action = true.\n"
        )
    };
    let added = json!({"workflow": args.id, "steps": steps, "catalog": path.as_str()});
    Ok(args.form.printed(&added, text, 0))
}
