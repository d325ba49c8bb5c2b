//! `oneact call`: a task typed by a person. The words become a dispatch message, which goes the way of `oneact run`.

mod arguments;

use std::process::ExitCode;

use camino::Utf8Path;
use clap::{
    Args,
    error::{ContextKind, ContextValue, ErrorKind},
};
use serde_json::{Value, json};

use crate::{
    catalog::{Callable, Catalog, Parameters, callable},
    doctor,
    host::{self, Host, Interrupts},
    perform::Settings,
    task::{Failure, Fault, Nameable, RefId, Uri, hexadecimal},
};

use super::{run, settings::RunArgs, watched::AnswerForm};

use arguments::{CallArgument, parameters};

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The id of an entry, or SERVER.TOOL for a tool without an entry
    #[arg(value_name = "CAPABILITY|SERVER.TOOL")]
    capability: String,
    /// A parameter: KEY=VALUE (typed by the schema), KEY:=JSON, or KEY=@FILE and KEY:=@FILE for the content of a
    /// file. A list is given by repeating its key
    #[arg(value_name = "KEY=VALUE")]
    parameters: Vec<String>,
    /// An input: its name (`store_1`), and its path or URI; can be given several times
    #[arg(long = "ref", value_name = "NAME=PATH")]
    refs: Vec<String>,
    /// A part of the request: with another text, a call is performed again that must not happen twice
    #[arg(long, value_name = "TEXT")]
    salt: Option<String>,
    /// The session of the task [default: `$ONEACT_SESSION`, or a new one]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    #[command(flatten)]
    run: RunArgs,
}

/// What a person may have meant whose flag is unknown.
pub(super) fn hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_unknown = error.kind() == ErrorKind::UnknownArgument;
    let key = flag.trim_start_matches('-').split('=').next()?;
    is_unknown.then(|| {
        format!("a parameter of the tool is written without dashes: {key}=VALUE; a VALUE may begin with dashes")
    })
}

pub(super) fn call(args: &CallArgs, interrupts: Interrupts) -> ExitCode {
    let form = AnswerForm::of_call(args.run.reply);
    run::performed(&args.run, interrupts, form, |settings, host, _| {
        settings.nameable = Nameable::Tools;
        let (task, note) = task(args, settings, host)?;
        settings.notes.extend(note);
        Ok(task.to_string().into_bytes())
    })
}

/// The digits of a task id: as many as no two calls of a session share.
const DIGITS: usize = 8;

/// The dispatch message, and what the caller may not expect.
fn task(
    args: &CallArgs,
    settings: &Settings,
    host: &Host,
) -> Result<(Value, Option<String>), Failure> {
    let words = args.parameters.iter().map(|word| CallArgument::parse(word));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let refs = args.refs.iter().map(|word| input(word));
    let refs = refs.collect::<Result<Vec<_>, _>>()?;
    let catalog = Catalog::load(&settings.project.catalog)?;
    let Callable {
        id,
        parameters: stated,
        note,
    } = callable(&catalog.tables()?, &args.capability)?;
    let schema = match stated {
        Parameters::InCatalog(schema) => Some(schema),
        // The call itself asks the server, so it is started twice only if this is needed.
        Parameters::AtServer { .. } if !words.iter().any(CallArgument::is_typed_by_schema) => None,
        Parameters::AtServer { server, tool } => {
            doctor::input_schema(&server, &tool, &settings.project, host)?
        }
    };
    let parameters = parameters(&words, schema.as_ref(), &id)?;
    let name = hexadecimal(&host.random_bytes());
    let task = json!({
        "task_id": format!("call_{}", name.get(..DIGITS).unwrap_or_default()),
        "capability_ids": [id],
        "input_refs_resolved": refs,
        "parameters": parameters,
        "salt": args.salt,
    });
    let metadata = match &args.session {
        Some(session) => json!({"session_id": session}),
        None => json!({}),
    };
    Ok((json!({"metadata": metadata, "dispatch": task}), note))
}

/// The input that `--ref NAME=PATH` gives. A path starts at the working directory.
fn input(word: &str) -> Result<Value, Failure> {
    let unresolved = |why: String| {
        let message = format!("--ref {word}: {why}");
        Failure::new(Fault::InputUnresolved, message)
    };
    let Some((name, place)) = word.split_once('=').filter(|(_, place)| !place.is_empty()) else {
        return Err(unresolved(
            "write NAME=PATH, e.g. store_1=talk.mp4".to_owned(),
        ));
    };
    RefId::parse(name).map_err(|why| unresolved(why.to_owned()))?;
    let uri = if place.contains("://") {
        place.to_owned()
    } else {
        let here = host::working_directory().map_err(unresolved)?;
        let path = here.join(Utf8Path::new(place));
        let found = path
            .try_exists()
            .map_err(|error| unresolved(format!("{path}: {error}")))?;
        if !found {
            return Err(unresolved(format!("there is no file {path}")));
        }
        let uri = Uri::from_path(&path).map_err(|error| unresolved(error.to_string()))?;
        uri.as_str().to_owned()
    };
    let status = if name.starts_with("src_") {
        "reference"
    } else {
        "stored"
    };
    Ok(json!({"ref_id": name, "storage_uri": uri, "status": status}))
}
