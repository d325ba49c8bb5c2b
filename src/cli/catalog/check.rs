//! `oneact catalog check`: all findings about the catalog.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    FormArgs, Stop,
    import::read,
    live::{Live, compared, offer, shown},
    printed, stop,
};
use crate::{
    catalog::{Application, Catalog, Finding, Level, lint},
    host::{self, Interrupts},
    task::{Approver, visible},
};

#[derive(Debug, Args)]
pub(in crate::cli) struct CheckArgs {
    /// Count warnings as errors, with exit code 2
    #[arg(long)]
    strict: bool,
    /// Also compare the catalog with the tables of an application document
    #[arg(long, value_name = "FILE")]
    against: Option<Utf8PathBuf>,
    /// Also start the servers, and compare their tools with the entries; no tool is called
    #[arg(long)]
    live: bool,
    /// Also print the pins of the tools that the catalog does not have; at a terminal, ask whether to write them into it
    #[arg(long, requires = "live")]
    pin: bool,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) const CODES: &str = "\
Exit codes:
  0    nothing found, or only warnings
  1    errors
  2    only warnings, with --strict; or the catalog cannot be read
  128 + n   interrupted by signal n (SIGINT: 130, SIGTERM: 143)";

pub(super) fn run(args: &CheckArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let project = args.form.places.project()?;
    let catalog = Catalog::load(&project.catalog).map_err(stop(2))?;
    let found = catalog
        .tables()
        .and_then(|tables| lint(&tables, &|approver| reachable(approver)));
    // A file that is no catalog at all is one finding.
    let (mut findings, entries) = found.unwrap_or_else(|error| (vec![Finding::from(error)], 0));
    if let Some(path) = &args.against {
        let document = read(path)?;
        let drift = catalog
            .tables()
            .and_then(|tables| Ok(document.drift(&Application::of(&tables)?)));
        findings.extend(drift.unwrap_or_default());
    }
    let mut live = Live::default();
    if args.live {
        live = compared(&project, catalog.tables().ok().as_ref(), interrupts);
    }
    let known: Vec<String> = findings
        .iter()
        .map(|finding| finding.text.clone())
        .collect();
    let is_new = |finding: &Finding| !known.iter().any(|text| finding.text.contains(text));
    live.findings.retain(is_new);
    findings.extend(live.findings);
    let count = |level| {
        findings
            .iter()
            .filter(|finding| finding.level == level)
            .count()
    };
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let name = project.catalog.file_name().unwrap_or("catalog.toml");
    let text = if args.form.json {
        let each = |finding: &Finding| {
            json!({
                "code": finding.code.name(), "level": word(finding.level),
                "line": finding.place.as_ref().map(|place| place.line), "text": finding.text,
            })
        };
        let findings: Vec<Value> = findings.iter().map(each).collect();
        let pins = live.pins.iter();
        let pins = pins.map(|(id, pin)| (id.clone(), pin.to_string().into()));
        format!(
            "{}\n",
            json!({
                "catalog": project.catalog.as_str(), "entries": entries, "findings": findings,
                "pins": args.pin.then(|| pins.collect::<Map<_, _>>()),
            })
        )
    } else {
        let line = |finding: &Finding| {
            let at = finding
                .place
                .as_ref()
                .map_or_else(String::new, |place| format!(":{}", place.line));
            let (level, code) = (word(finding.level), finding.code.name());
            format!("{name}{at} {level} {code}  {}\n", visible(&finding.text))
        };
        let number = |count: usize, one: &str, many: &str| {
            format!("{count} {}", if count == 1 { one } else { many })
        };
        let lines: String = findings.iter().map(line).collect();
        format!(
            "{lines}{}{}, {}, {}\n",
            if args.pin {
                shown(&live.pins)
            } else {
                String::new()
            },
            number(entries, "entry", "entries"),
            number(errors, "error", "errors"),
            number(warnings, "warning", "warnings"),
        )
    };
    let code = match (errors, warnings) {
        _ if let Some(signal) = live.interrupted => 128 + signal.number(),
        (0, 0) => 0,
        (0, _) if args.strict => 2,
        (0, _) => 0,
        _ => 1,
    };
    let done = printed(text, code);
    if args.pin && !args.form.json {
        offer(&project, &catalog, &live.pins)?;
    }
    Ok(done)
}

/// Whether an agent that runs as this user could give the approval at a terminal.
fn reachable(approver: &Approver) -> bool {
    let us = host::user_id();
    match approver {
        Approver::Key(_) => false,
        // Root can act as every user.
        _ if us == 0 => true,
        Approver::Uid(uid) => *uid == us,
        Approver::User(name) => host::is_named(us, name),
        Approver::Group(name) => host::is_in_group(us, name),
    }
}

const fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
    }
}
