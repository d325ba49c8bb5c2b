//! A checked `[pipeline.NAME]`: a program that plans start by its name (R-001-93, C-23).

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use toml::Spanned;

use super::common::{Defaults, Time, WhenKeys, check_variable};
use crate::{
    catalog::file::{
        code::Code,
        document::{CatalogError, Named, Tables},
        toml_text::is_bare,
    },
    task::{
        Argument, Backup, Effects, Hazards, Network, Pipeline, PipelineApproval, RelPath,
        SharedMemory, assess, canonical, folded, hexadecimal, nearest,
    },
};

pub(crate) const PIPELINE: &str = "pipeline";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PipelineKeys {
    #[serde(default)]
    description: String,
    command: Vec<Spanned<String>>,
    parameters: Option<Value>,
    #[serde(default)]
    writes: Vec<Spanned<String>>,
    #[serde(default)]
    env_pass: Vec<String>,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    shared_memory: bool,
    timeout: Option<Time>,
    #[serde(default)]
    effects: Effects,
    #[serde(default)]
    approval: WhenKeys,
}

/// The default and the maximum of specification 001 §11.1 (R-001-172).
const TIMEOUT: Duration = Duration::from_mins(5);
const LONGEST: Duration = Duration::from_hours(1);

/// What oneact keeps below any directory. What a setting puts elsewhere is refused when the pipeline is to run.
const KEPT: [&str; 3] = [".oneact", "agent_outputs/reports", "agent_logs/executor"];

/// What a program gets from oneact itself.
const OWN_VARIABLE: &str = "TMPDIR";

/// All pipelines, in the order of the file. An error of one of them is an error of the catalog.
pub(crate) fn all(tables: &Tables<'_>) -> Result<Vec<Pipeline>, CatalogError> {
    let names = tables.names(PIPELINE)?;
    let found = names.into_iter().map(|name| named(tables, name));
    found.filter_map(Result::transpose).collect()
}

pub(crate) fn named(tables: &Tables<'_>, name: &str) -> Result<Option<Pipeline>, CatalogError> {
    let found = tables.named(PIPELINE, name)?;
    found.map(|named| compile(&named)).transpose()
}

/// Checks the schema of the parameters, which a plan compiles only when it runs the pipeline.
pub(crate) fn check(tables: &Tables<'_>, pipeline: &Pipeline) -> Result<(), CatalogError> {
    let compiled = jsonschema::validator_for(&pipeline.parameters);
    match (compiled, tables.named(PIPELINE, &pipeline.name)?) {
        (Err(error), Some(named)) => {
            let problem =
                format!("the JSON Schema in `parameters` does not compile; correct it: {error}");
            Err(named.wrong_in("parameters", &problem).coded(Code::CAT042))
        }
        _ => Ok(()),
    }
}

/// The risk of a run. What it changes has no backup.
pub(crate) fn hazards(pipeline: &Pipeline) -> Hazards {
    Hazards {
        effects: pipeline.effects,
        backup: Backup::Unknown,
        ..Hazards::default()
    }
}

fn compile(named: &Named<'_>) -> Result<Pipeline, CatalogError> {
    let keys: PipelineKeys = named.read()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if named.name.is_empty() || named.name.starts_with('.') || !named.name.chars().all(is_plain) {
        let problem = "has a name that no plan can write as a target; use letters, digits, `_`, `-` and `.`, and do not begin with `.`";
        return Err(named.wrong(problem).coded(Code::CAT002));
    }
    if named.tables.entries()?.contains(&named.name) {
        let problem = "has the id of a capability or a workflow; rename one";
        return Err(named.wrong(problem).coded(Code::CAT003));
    }
    for name in &keys.env_pass {
        check_variable(name, &[OWN_VARIABLE]).map_err(|problem| named.wrong_in("", &problem))?;
    }
    let timeout = keys.timeout.map_or(TIMEOUT, |time| time.0);
    if timeout > LONGEST {
        let problem = "a pipeline may take at most one hour (specification 001 §11.1); write \"3600s\" or less";
        return Err(named.wrong_in("timeout", problem));
    }
    let parameters = keys.parameters;
    let parameters =
        parameters.unwrap_or_else(|| json!({"type": "object", "additionalProperties": false}));
    check_parameters(&parameters).map_err(|problem| named.wrong_in("parameters", &problem))?;
    let writes = keys.writes.iter().map(|pattern| directory(named, pattern));
    let whole = canonical(&named.keys()?.into()).unwrap_or_default();
    let mut pipeline = Pipeline {
        name: named.name.to_owned(),
        description: keys.description,
        command: command(named, &keys.command, &parameters)?,
        parameters,
        writes: writes.collect::<Result<_, _>>()?,
        env_pass: keys.env_pass,
        network: if keys.network {
            Network::Allowed
        } else {
            Network::Refused
        },
        shared_memory: if keys.shared_memory {
            SharedMemory::Allowed
        } else {
            SharedMemory::Refused
        },
        timeout,
        effects: keys.effects,
        approval: PipelineApproval::NotNeeded,
        catalog: named.place().path,
        seal: hexadecimal(&Sha256::digest(whole)),
    };
    let usual = Defaults::of(named.tables)?.approval.when;
    let when = keys.approval.when.unwrap_or(usual);
    if when.holds(assess(&hazards(&pipeline)).risk) {
        pipeline.approval = PipelineApproval::Needed;
    }
    Ok(pipeline)
}

/// Checks the schema. Each parameter is one argument of the command, so it always has a value.
fn check_parameters(schema: &Value) -> Result<(), String> {
    if schema.get("type") != Some(&Value::from("object")) {
        return Err(
            "`parameters` must be the JSON Schema of an object: add type = \"object\"".to_owned(),
        );
    }
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.contains(&name.into()));
    for (name, property) in properties(schema).into_iter().flatten() {
        if ["self", "root"].contains(&name.as_str()) || !is_bare(name) {
            return Err(format!(
                "a parameter cannot be called `{name}`; use letters, digits, `_` and `-`, and neither `self` nor `root`"
            ));
        }
        if !is_required(name) && property.get("default").is_none() {
            return Err(format!(
                "the parameter `{name}` may be missing, but is an argument of the command; name it in `required`, or give it a `default`"
            ));
        }
    }
    Ok(())
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The argv. An argument that is wholly `{name}` is a parameter, and every parameter must be one.
fn command(
    named: &Named<'_>,
    said: &[Spanned<String>],
    parameters: &Value,
) -> Result<Vec<Argument>, CatalogError> {
    let known: Vec<&str> = properties(parameters)
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let argument = |said: &Spanned<String>| {
        let (text, at) = (said.get_ref().as_str(), said.span().start);
        let wrong = |problem: String| named.wrong_at(at, &problem);
        if text.contains('\0') {
            return Err(wrong("`command` cannot contain a NUL character".to_owned()));
        }
        let whole = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'));
        match whole.filter(|name| is_bare(name)) {
            Some("self" | "root") => return Ok(Argument::Fixed(text.to_owned())),
            Some(name) if known.contains(&name) => return Ok(Argument::Parameter(name.to_owned())),
            Some(name) => {
                let hint = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean `{{{near}}}`?"),
                    None => "add it to `properties` of `parameters`".to_owned(),
                };
                return Err(wrong(format!("no parameter `{name}` is declared; {hint}")));
            }
            None => {}
        }
        match known
            .iter()
            .find(|name| text.contains(&format!("{{{name}}}")))
        {
            Some(name) => Err(wrong(format!(
                "`{{{name}}}` must be an argument of its own, so that a value cannot become anything else; separate it from {text:?}"
            ))),
            None => Ok(Argument::Fixed(text.to_owned())),
        }
    };
    let command: Vec<Argument> = said.iter().map(argument).collect::<Result<_, _>>()?;
    let wrong = |problem: &str| named.wrong_in("command", problem);
    match command.first() {
        Some(Argument::Fixed(program)) if !program.is_empty() => {}
        Some(Argument::Parameter(_)) => {
            return Err(wrong(
                "`command` must begin with the program itself, which no plan can choose",
            ));
        }
        _ => {
            return Err(wrong(
                "`command` must name a program, as an array of arguments",
            ));
        }
    }
    let used = |name: &&str| command.contains(&Argument::Parameter((*name).to_owned()));
    match known.iter().find(|name| !used(name)) {
        Some(name) => Err(wrong(&format!(
            "no argument is `{{{name}}}`, so the parameter would never reach the program; add the argument, or remove the parameter"
        ))),
        None => Ok(command),
    }
}

/// The directory of a pattern `DIR/**`.
fn directory(named: &Named<'_>, said: &Spanned<String>) -> Result<RelPath, CatalogError> {
    let text = said.get_ref();
    let wrong = |why: &str| {
        let problem = format!("`writes`: {text:?} {why}");
        named.wrong_at(said.span().start, &problem)
    };
    let Some(dir) = text
        .strip_suffix("/**")
        .filter(|dir| !dir.contains(['*', '?', '[', '{']))
    else {
        return Err(wrong(
            "must be a directory below the root with everything in it, written `DIR/**`",
        ));
    };
    let path = RelPath::parse(dir)
        .map_err(|why| wrong(&format!("is not a directory below the root: {why}")))?;
    let folded = format!("/{}/", folded(dir));
    let meets = |kept: &&&str| {
        let first = kept.split('/').next().unwrap_or_default();
        folded.contains(&format!("/{kept}/")) || folded.ends_with(&format!("/{first}/"))
    };
    match KEPT.iter().find(meets) {
        Some(kept) => Err(wrong(&format!(
            "is or contains what oneact keeps (`{kept}`); name another directory"
        ))),
        None => Ok(path),
    }
}
