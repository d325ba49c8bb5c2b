//! Pipelines of a plan (R-001-93, C-23): a program of the catalog, in a domain of its own.
//!
//! oneact starts a warden ([`warden`]), which starts the program and ends all that it started.

#[cfg(test)]
mod tests;
mod warden;

use std::{
    collections::BTreeSet,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use camino::Utf8Path;
use serde_json::{Map, Value};

use crate::{
    host::{own_program, plain_environment, resolved, variable},
    task::{
        Argument, Failure, Fault, Pipeline, RelPath, Repeatable, Secrets, visible, visible_lines,
    },
};

use super::jail::{Child, Ended};
use warden::{End, Report};

pub(super) use warden::{Job, guard};

/// A program to be started.
pub(crate) struct Launch<'a> {
    pub(crate) pipeline: &'a Pipeline,
    /// The values of its declared parameters.
    pub(crate) parameters: &'a Map<String, Value>,
    /// Its working directory.
    pub(crate) root: &'a Utf8Path,
    /// An empty directory that is the program's own (`TMPDIR`). The caller removes it.
    pub(crate) scratch: &'a Utf8Path,
    /// The program is ended when it takes longer.
    pub(crate) longest: Duration,
    /// Asked now and then; a reason to stop ends the program and everything it has started.
    pub(crate) stopped: &'a dyn Fn() -> Option<Failure>,
}

/// The most problems of parameters in one message.
const PROBLEMS: usize = 5;

/// How much of the output is shown, in bytes, and how much of it in a message.
const SHOWN: usize = 8 << 10;
const IN_A_MESSAGE: usize = 2 << 10;

/// How long the warden may take to end everything.
const ENDING: Duration = Duration::from_secs(30);

/// The arguments of the program, each parameter as one argument; an error if the parameters do not fit the schema.
pub(crate) fn arguments(
    pipeline: &Pipeline,
    parameters: &Map<String, Value>,
) -> Result<Vec<String>, Failure> {
    arguments_in(pipeline, parameters, &str::to_owned)
}

/// The same with `{self}` and `{root}` replaced by `filled` in the arguments of the catalog, and only there.
fn arguments_in(
    pipeline: &Pipeline,
    parameters: &Map<String, Value>,
    filled: &dyn Fn(&str) -> String,
) -> Result<Vec<String>, Failure> {
    let unfit = |why: String| {
        let message = format!("the parameters of the pipeline `{}` {why}", pipeline.name);
        Failure::new(Fault::ParamsInvalid, message)
    };
    let declared = pipeline.parameters.get("properties");
    let none = Map::new();
    let declared = declared.and_then(Value::as_object).unwrap_or(&none);
    if let Some(name) = parameters.keys().find(|name| !declared.contains_key(*name)) {
        let known: Vec<&str> = declared.keys().map(String::as_str).collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        return Err(unfit(format!(
            "include `{}`, which its entry does not declare; it has {known}",
            visible(name)
        )));
    }
    let mut values = parameters.clone();
    for (name, schema) in declared {
        if let (false, Some(default)) = (values.contains_key(name), schema.get("default")) {
            values.insert(name.clone(), default.clone());
        }
    }
    let values = Value::Object(values);
    let schema = jsonschema::validator_for(&pipeline.parameters).map_err(|error| {
        let message = format!("{}: [pipeline.{}]: the JSON Schema in `parameters` does not compile; correct it: {error}", pipeline.catalog, pipeline.name);
        Failure::new(Fault::CatalogInvalid, message)
    })?;
    let problems = schema.iter_errors(&values).take(PROBLEMS).map(|error| {
        let path = error.instance_path().to_string();
        visible(&format!("{path}: {error}"))
            .trim_start_matches(": ")
            .to_owned()
    });
    let problems: Vec<String> = problems.collect();
    if !problems.is_empty() {
        return Err(unfit(format!(
            "do not fit its entry: {}",
            problems.join("; ")
        )));
    }
    let mut options = true;
    let argument = |argument: &Argument| {
        let name = match argument {
            Argument::Fixed(text) => {
                options &= text != "--";
                return Ok(filled(text));
            }
            Argument::Parameter(name) => name,
        };
        match values.get(name) {
            Some(Value::String(text)) if text.contains('\0') => Err(unfit(format!(
                "have a NUL character in `{name}`, which no argument can contain; remove it"
            ))),
            // The program would take it for something that its entry does not offer.
            Some(Value::String(text)) if options && text.starts_with('-') => Err(unfit(format!(
                "have a text in `{name}` that begins with `-`, which the program could read as an option; begin it otherwise, or write \"--\" before `{{{name}}}` in the entry"
            ))),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(number @ (Value::Number(_) | Value::Bool(_))) => Ok(number.to_string()),
            _ => Err(unfit(format!(
                "must have a text, a number, true or false in `{name}`"
            ))),
        }
    };
    pipeline.command.iter().map(argument).collect()
}

/// Whether the pipeline can be started here: it may write to nothing that oneact keeps (`own`) and not to its catalog,
/// and the variables that it needs are set. For the check of a plan, before anything is done.
pub(crate) fn can_start(
    pipeline: &Pipeline,
    root: &Utf8Path,
    own: &[RelPath],
) -> Result<(), Failure> {
    let catalog = resolved(root.join(&pipeline.catalog).as_std_path());
    let catalog = catalog.strip_prefix(resolved(root.as_std_path())).ok();
    let catalog = catalog.and_then(|path| RelPath::parse(path.to_str()?).ok());
    for dir in &pipeline.writes {
        let meets = |kept: &&RelPath| {
            let (kept, dir) = (kept.as_path(), dir.as_path());
            kept.starts_with(dir) || dir.starts_with(kept)
        };
        if let Some(kept) = own.iter().chain(&catalog).find(meets) {
            let message = format!(
                "the pipeline `{}` may not write to {dir}/**: {kept} is oneact's own. Change `writes` in [pipeline.{0}]",
                pipeline.name
            );
            return Err(Failure::new(Fault::CatalogInvalid, message));
        }
    }
    environment(pipeline, "".into()).map(drop)
}

/// The environment of the program, and what of it appears nowhere.
fn environment(
    pipeline: &Pipeline,
    scratch: &Utf8Path,
) -> Result<(Vec<(String, String)>, Secrets), Failure> {
    let passed = pipeline.env_pass.iter().map(|name| {
        let value = variable(name).ok_or_else(|| {
            not_started(pipeline, &format!("it needs the environment variable {name}, which is not set, or not UTF-8; set it and try again"))
        })?;
        Ok((name.clone(), value))
    });
    let passed = passed.collect::<Result<Vec<_>, Failure>>()?;
    let secrets = Secrets::new(passed.iter().map(|(_, value)| value.clone()));
    let mut env = plain_environment();
    env.retain(|(name, _)| !pipeline.env_pass.contains(name));
    env.push(("TMPDIR".to_owned(), scratch.to_string()));
    env.extend(passed);
    Ok((env, secrets))
}

/// Runs the program to its end, and gives the end of what it printed, for the report. An error if it could not be started
/// ([`Fault::PipelineNotStarted`]: nothing was done), failed or was stopped; its message has the end of the output.
/// Afterwards nothing that it started is running. If oneact is killed meanwhile, the warden kills all of it, and holds the
/// lock of `scratch` until then.
pub(crate) fn run(launch: &Launch<'_>) -> Result<String, Failure> {
    // What it did stays, so that only its entry can say that it may be run again.
    let again = launch.pipeline.effects.repeatable() == Repeatable::Yes;
    ran(launch).map_err(|failure| Failure {
        recoverable: failure.recoverable && again,
        ..failure
    })
}

fn ran(launch: &Launch<'_>) -> Result<String, Failure> {
    let pipeline = launch.pipeline;
    let filled = |text: &str| {
        text.replace("{self}", &own_program())
            .replace("{root}", launch.root.as_str())
    };
    let (env, secrets) = environment(pipeline, launch.scratch)?;
    let job = Job {
        argv: arguments_in(pipeline, launch.parameters, &filled)?,
        env,
        root: launch.root.to_string(),
        scratch: launch.scratch.to_string(),
        writes: pipeline.writes.clone(),
        network: pipeline.network,
        shared_memory: pipeline.shared_memory,
    };
    let begun = Instant::now();
    let late = || {
        let message = format!(
            "the pipeline `{}` took longer than its time limit of {:?}",
            pipeline.name, launch.longest
        );
        Failure::new(Fault::ToolTimeout, message)
    };
    let is_late = || begun.elapsed() > launch.longest;
    let stopped = || (launch.stopped)().or_else(|| is_late().then(late));
    let mut child = Child::start("pipeline", &job)?;
    let (answer, why) = match child.answer::<Report>(&stopped) {
        Err(Ended::Stopped(why)) => {
            child.say(&"stop");
            let told = Instant::now();
            let answer = child.answer(&|| (told.elapsed() >= ENDING).then(|| why.clone()));
            (answer, Some(why))
        }
        answer => (answer, None),
    };
    let Ok(report) = answer else {
        return Err(failed(
            pipeline,
            "has an unknown end, because its warden did not answer; something that it started may still be running",
        ));
    };
    let output = shown(&report, &secrets);
    let how = match (why, report.end) {
        (_, End::NotStarted(why)) => return Err(not_started(pipeline, &why)),
        (Some(why), _) => {
            let message = with_end(&why.message, &output);
            return Err(Failure { message, ..why });
        }
        (None, End::Exited(0)) => return Ok(output),
        (None, End::Exited(code)) => format!("ended with the exit status {code}"),
        (None, End::Killed(signal)) => format!("was ended by the signal {signal}"),
        (None, End::Stopped) => "was stopped by its warden".to_owned(),
    };
    Err(failed(pipeline, &with_end(&how, &output)))
}

fn failed(pipeline: &Pipeline, how: &str) -> Failure {
    let message = format!("the pipeline `{}` {how}", pipeline.name);
    Failure::new(Fault::PipelineFailed, message)
}

fn not_started(pipeline: &Pipeline, why: &str) -> Failure {
    let message = format!("the pipeline `{}` was not started: {why}", pipeline.name);
    Failure::new(Fault::PipelineNotStarted, message)
}

fn with_end(how: &str, output: &str) -> String {
    match end_of(output, IN_A_MESSAGE).trim_end() {
        "" => format!("{how}; it printed nothing"),
        end => format!("{how}; the end of its output:\n{end}"),
    }
}

/// The end of the output as people may see it, with a line that says what is before.
fn shown(report: &Report, secrets: &Secrets) -> String {
    let text = secrets.shown(&report.output);
    let text = visible_lines(&text);
    let end = end_of(&text, SHOWN);
    match report.before + (text.len() - end.len()) as u64 {
        0 => end.to_owned(),
        before => format!("[about {before} bytes before this are left out]\n{end}"),
    }
}

/// At most the last `most` bytes, in whole characters.
fn end_of(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}

/// The files in the directories that the pipeline may write to which were changed (ctime) since then, at most 100, and
/// how many there are. Those whose names are not UTF-8 are only counted. The time is of the clock of files ([`crate::host::file_time`]), in nanoseconds.
pub(crate) fn written_since(
    root: &Utf8Path,
    writes: &[RelPath],
    since: i64,
) -> (Vec<RelPath>, usize) {
    const MOST: usize = 100;
    let (mut first, mut count) = (BTreeSet::new(), 0);
    let dirs = writes.iter().map(|dir| root.join(dir.as_path()).into());
    let mut next: Vec<PathBuf> = dirs.collect();
    while let Some(dir) = next.pop() {
        for entry in dir.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(found) = path.symlink_metadata() else {
                continue;
            };
            if found.is_dir() {
                next.push(path);
            } else if i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec())
                >= i128::from(since)
            {
                count += 1;
                let path = path.strip_prefix(root).ok().and_then(Path::to_str);
                first.extend(path.and_then(|path| RelPath::parse(path).ok()));
                if first.len() > MOST {
                    first.pop_last();
                }
            }
        }
    }
    (first.into_iter().collect(), count)
}
