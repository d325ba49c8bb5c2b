//! Checks a server: first its entry and its command, which is looked up as the start of the server does, then by a start.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::json;

use crate::{
    assets::reach::is_executable,
    catalog::{Entry, Server},
    executor,
    host::{self, Program},
    mcp::{CallError, Inspection, Parting, ServerSpec, inspect, short_name},
    task::{Failure, redact_presigned, redact_value},
};

use super::{About, CORRECT, Doctor, Finding, FindingKind, Subject, count};

/// The era of a version of MCP. Versions are ISO dates, so their texts compare as dates.
fn era(version: &str) -> &'static str {
    if version < "2026-07-28" {
        "legacy"
    } else {
        "modern"
    }
}

/// The number of lines that are shown: the last ones of stderr, the first ones of noise.
const LINES: usize = 5;

impl Doctor<'_> {
    /// Checks a server's entry, starts the server, and compares its tools with the entries that use it.
    pub(super) fn server(&mut self, server: &Server, users: &[&Entry], scratch: &Utf8Path) {
        let about = Subject::named(About::Server, &server.name);
        if let Some(runner) = runner(&server.command) {
            self.note(about.warning(
                FindingKind::ColdStart,
                format!("`{runner}` may search for its package, or download it, at every start"),
                format!(
                    "install the package and name its program in {}: then every start is fast and uses the same version",
                    about.entry()
                ),
            ));
        }
        let (spec, program) = match startable(server, &self.setup.project.root, scratch) {
            Ok(startable) => startable,
            Err(findings) => return findings.into_iter().for_each(|finding| self.note(finding)),
        };
        let seen = inspect(&spec, self.host);
        self.secrets = seen.secrets.clone();
        if matches!(seen.result, Err(CallError::Cancelled { .. })) {
            return;
        }
        self.remember(&spec, &program, &seen);
        self.course(&about, &spec, &seen);
        if let Ok(tools) = &seen.result {
            for entry in users {
                self.capability(entry, tools, &spec);
            }
        }
    }

    /// Reports how the server started, communicated and ended.
    fn course(&mut self, about: &Subject, spec: &ServerSpec, seen: &Inspection) {
        let entry = about.entry();
        let report = &seen.report;
        let ready_after = seen.ready_after.unwrap_or_default();
        self.note(match &seen.result {
            Ok(tools) => {
                let protocol = report.protocol.as_deref().unwrap_or_default();
                let info = report.server_info.as_ref();
                let name = info.map(|(name, version)| format!("{name} {version}"));
                let what = format!(
                    "{} is ready after {ready_after:.0?} and lists {} (MCP {protocol}, {})",
                    name.as_deref().unwrap_or("it"),
                    count(tools.len(), "tool", "tools"),
                    era(protocol),
                );
                about.good(FindingKind::ServerGood, what)
            }
            Err(error) => {
                let remedy = match spec.program() {
                    Some(program) => {
                        format!("start it by hand to see the error: {}", by_hand(program))
                    }
                    None => format!("correct {entry}, or what runs at its `url`"),
                };
                let what = of_it(&error.to_string(), &spec.name);
                about
                    .problem(FindingKind::ServerFailed, what, remedy)
                    .with(last(&report.stderr_tail))
            }
        });
        if seen.ready_after.is_some() && ready_after > spec.startup_timeout / 2 {
            self.note(about.warning(
                FindingKind::Slow,
                format!(
                    "it was ready only after {ready_after:.0?}; the limit is {:?}",
                    spec.startup_timeout
                ),
                format!("raise `startup_timeout` in {entry}: a busy machine needs more time"),
            ));
        }
        let noise = &report.stdout_noise;
        if noise.lines > 0 {
            let lines = usize::try_from(noise.lines).unwrap_or(usize::MAX);
            let sample = noise.sample.lines().take(LINES).map(str::to_owned);
            let finding = about.warning(FindingKind::Noise,
                format!(
                    "it writes output to stdout that is not a protocol message: {}",
                    count(lines, "line", "lines")
                ),
                "oneact ignores this output, but other clients may fail; make the server log to stderr",
            );
            self.note(finding.with(sample.collect()));
        }
        if report.parting == Parting::Helped {
            self.note(about.warning(FindingKind::EndIgnored,
                format!(
                    "it did not end within {:?} after its stdin was closed, and was ended by a signal",
                    spec.shutdown_grace
                ),
                format!(
                    "raise `shutdown_grace` in {entry} if the server needs more time to finish; oneact ends it in any case"
                ),
            ));
        }
        if !report.killed.is_empty() {
            let processes = report.killed.iter();
            let processes = processes.map(|each| format!("{} ({})", each.name, each.pid));
            let processes: Vec<String> = processes.collect();
            self.note(about.warning(FindingKind::LeftBehind,
                format!(
                    "it left processes behind, which oneact ended: {}",
                    processes.join(", ")
                ),
                "no action is needed, unless they are meant to keep running: oneact ends them with each run",
            ));
        }
    }

    /// Adds the facts of the server as JSON. Secrets, and signatures and credentials in links, are cut.
    fn remember(&mut self, spec: &ServerSpec, program: &str, seen: &Inspection) {
        let report = &seen.report;
        let shown = |text: &str| redact_presigned(text).into_owned();
        let tools = seen.result.iter().flatten().map(|tool| {
            let schema = tool.input_schema.as_ref();
            let mut input_schema = schema.map(|schema| spec.secrets.cut_value(schema.clone()));
            input_schema.iter_mut().for_each(redact_value);
            let name = short_name(&spec.secrets.shown(&tool.name));
            json!({"name": name, "input_schema": input_schema})
        });
        let info = report.server_info.as_ref();
        let program_of = spec.program();
        let words = program_of.iter().flat_map(|program| &program.argv);
        let command = words.map(|word| shown(word));
        self.diagnosis.servers.push(json!({
            "name": spec.name,
            "url": spec.url(),
            "command": command.collect::<Vec<_>>(),
            "program": program,
            "ready_after_ms": seen.ready_after.map(|time| time.as_millis()),
            "protocol": report.protocol.as_deref().map(shown),
            "era": report.protocol.as_deref().map(era),
            "server_name": info.map(|(name, _)| shown(name)),
            "server_version": info.map(|(_, version)| shown(version)),
            "tools": tools.collect::<Vec<_>>(),
            "ended": report.exit_status.map(|status| shown(&status.to_string())),
            "stderr_bytes": report.stderr_bytes,
            "noise_lines": report.stdout_noise.lines,
        }));
    }
}

/// How a server is started, with the path of its program or its address. This checks the entry, the environment and the
/// command, and starts nothing. The findings say what has to be set right first.
pub(super) fn startable(
    server: &Server,
    root: &Utf8Path,
    scratch: &Utf8Path,
) -> Result<(ServerSpec, String), Vec<Finding>> {
    let about = Subject::named(About::Server, &server.name);
    let unset = unset(server.variables(), &about);
    if !unset.is_empty() {
        return Err(unset);
    }
    let spec = executor::launch(server, root, scratch, &[]);
    let unusable =
        |failure: Failure| about.problem(FindingKind::EntryUnusable, failure.message, CORRECT);
    let spec = spec.map_err(|failure| vec![unusable(failure)])?;
    let Some(start) = spec.program() else {
        let url = spec.url().unwrap_or_default();
        return Ok((spec, url));
    };
    if !start.cwd.is_dir() {
        return Err(vec![about.problem(
            FindingKind::DirectoryMissing,
            format!("its working directory {} does not exist", start.cwd),
            format!("create it, or correct `cwd` in {}", about.entry()),
        )]);
    }
    let program = find_program(start, &about).map_err(|finding| vec![finding])?;
    Ok((spec, program.into_string()))
}

/// A finding for each variable that the entry names and the environment lacks.
pub(super) fn unset<'n>(names: impl Iterator<Item = &'n String>, about: &Subject) -> Vec<Finding> {
    let unset = names.filter(|name| host::variable(name).is_none());
    let finding = |name| {
        about.problem(
            FindingKind::VariableUnset,
            format!("it needs the environment variable {name}, which is not set, or not UTF-8"),
            format!("export {name}, or remove it from {}", about.entry()),
        )
    };
    unset.map(finding).collect()
}

/// A text about a server, without the server's name at its beginning: the subject has the name.
pub(super) fn of_it(text: &str, name: &str) -> String {
    let rest = text.strip_prefix(&format!("server `{name}`"));
    match rest.map(|rest| (rest, rest.strip_prefix(": "))) {
        Some((_, Some(rest))) => rest.to_owned(),
        Some((rest, None)) => format!("it{rest}"),
        None => text.to_owned(),
    }
}

/// The last lines that are not blank.
pub(super) fn last(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let start = lines.len().saturating_sub(LINES);
    lines.into_iter().skip(start).map(str::to_owned).collect()
}

/// Programs that look for a package, or fetch it, at each start.
const RUNNERS: [&str; 5] = ["npx", "uvx", "bunx", "pnpx", "pipx"];

/// The path of the program, or a finding that says why there is none.
pub(super) fn find_program(spec: &Program, about: &Subject) -> Result<Utf8PathBuf, Finding> {
    let program = spec.argv.first().map_or("", String::as_str);
    let (found, missing, detail) = if program.contains('/') {
        let path = spec.cwd.join(program);
        let missing = format!("{program} does not exist (oneact looked for {path})");
        (vec![path], missing, Vec::new())
    } else {
        let missing = format!("`{program}` is in no directory of PATH");
        let path = format!("PATH={}", search_path(spec));
        (candidates(spec, program).collect(), missing, vec![path])
    };
    if let Some(path) = found.iter().find(|file| is_executable(file)) {
        return Ok(path.clone());
    }
    // A file of that name which cannot be executed is probably the one that was meant.
    Err(match found.iter().find(|file| file.is_file()) {
        Some(path) => about.problem(
            FindingKind::CommandNotExecutable,
            format!("its command {path} is not a program that this user may execute"),
            format!(
                "chmod +x '{path}', or start it with its interpreter in {}",
                about.entry()
            ),
        ),
        None => about
            .problem(
                FindingKind::CommandMissing,
                format!("its command {missing}"),
                format!(
                    "install it, or write the command of an installed program into {}",
                    about.entry()
                ),
            )
            .with(detail),
    })
}

/// The server's `PATH`; empty if it has none.
pub(super) fn search_path(spec: &Program) -> &str {
    let path = spec.env.iter().find(|(name, _)| name == "PATH");
    path.map_or("", |(_, value)| value.as_str())
}

/// The paths that `PATH` gives for a program's name, in the order of the search.
fn candidates(spec: &Program, program: &str) -> impl Iterator<Item = Utf8PathBuf> {
    let dirs = search_path(spec).split(':');
    dirs.map(move |dir| spec.cwd.join(dir).join(program))
}

pub(super) fn finds_program(start: &Program, program: &str) -> bool {
    candidates(start, program).any(|file| is_executable(&file))
}

/// The runner's name, if the server is started through one.
fn runner(command: &[String]) -> Option<&str> {
    let program = Utf8Path::new(command.first()?).file_name()?;
    RUNNERS.contains(&program).then_some(program)
}

/// A shell command that starts the server as oneact does, except for the environment.
pub(super) fn by_hand(start: &Program) -> String {
    let words: Vec<String> = start.argv.iter().map(|word| quoted(word)).collect();
    format!("cd {} && {}", quoted(start.cwd.as_str()), words.join(" "))
}

/// A word, quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
