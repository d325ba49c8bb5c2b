//! `oneact catalog check`: all findings about the catalog. `--live` compares it with the running servers, as `oneact
//! doctor` does, and `--pin` binds entries to the tools of now.

use std::process::ExitCode;

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::{Map, Value, json};
use toml_edit::{DocumentMut, Item};

use super::{change::CatalogFile, document};
use crate::{
    catalog::{Application, Catalog, CatalogTables, Code, Finding, Level, lint},
    cli::{
        ended::{Stop, stop},
        printing::counted,
        settings::FormArgs,
        terminal,
    },
    doctor::{self, NewPin, Setup, examine},
    host::{self, Host, Interrupt, Interrupts},
    record::Project,
    task::{Approver, Pin, visible},
};

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Count warnings as errors, with exit code 2
    #[arg(long)]
    strict: bool,
    /// Also compare the catalog with the tables of an application document
    #[arg(long, value_name = "FILE")]
    against: Option<Utf8PathBuf>,
    /// Also start the servers, and compare their tools with the entries; no tool is called
    #[arg(long)]
    pub(super) live: bool,
    /// Also print the pin of each tool whose entry has no pin or another one; at a terminal, ask whether to write these
    /// pins into the catalog
    #[arg(long, requires = "live")]
    pin: bool,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &CheckArgs, interrupts: &Interrupts) -> Result<ExitCode, Stop> {
    let project = args.form.places.project()?;
    let catalog = Catalog::load(&project.catalog).map_err(stop(2))?;
    let found = catalog
        .tables()
        .and_then(|tables| lint(&tables, &|approver| reachable(approver)));
    // A file that is no catalog at all is one finding.
    let (mut findings, entries) = found.unwrap_or_else(|error| (vec![Finding::from(error)], 0));
    if let Some(path) = &args.against {
        let document = document::read(path)?;
        let drift = catalog
            .tables()
            .and_then(|tables| Ok(document.drift(&Application::of(&tables)?)));
        findings.extend(drift.unwrap_or_default());
    }
    let mut live = Live::default();
    if args.live {
        live = compared(&project, catalog.tables().ok().as_ref(), interrupts);
        let known = findings.iter().map(|finding| finding.text.clone());
        let known: Vec<String> = known.collect();
        let is_new = |finding: &Finding| !known.iter().any(|text| finding.text.contains(text));
        findings.extend(live.findings.drain(..).filter(is_new));
    }
    let count = |level| {
        let of_level = findings.iter().filter(|finding| finding.level == level);
        of_level.count() as u64
    };
    let (errors, warnings) = (count(Level::Error), count(Level::Warning));
    let code = match (live.interrupted, errors, warnings) {
        (Some(signal), ..) => 128 + signal.number(),
        (None, 0, 0) => 0,
        (None, 0, _) => {
            if args.strict {
                2
            } else {
                0
            }
        }
        (None, ..) => 1,
    };
    let pins = live.pins.as_slice();
    let listed = |shown: fn(&NewPin) -> Option<&Pin>| {
        let each = pins.iter();
        let each = each.filter_map(|new| Some((new.id.clone(), shown(new)?.to_string().into())));
        args.pin.then(|| each.collect::<Map<_, _>>())
    };
    let document = json!({
        "catalog": project.catalog.as_str(), "entries": entries,
        "findings": findings.iter().map(document_of).collect::<Vec<_>>(),
        "pins": listed(|new| Some(&new.pin)), "replaced_pins": listed(|new| new.replaces.as_ref()),
    });
    let text = || {
        let name = project.catalog.file_name().unwrap_or("catalog.toml");
        let lines = findings.iter().map(|finding| line(name, finding));
        let shown = if args.pin { shown(pins) } else { String::new() };
        format!(
            "{}{shown}{}, {}, {}\n",
            lines.collect::<String>(),
            counted(entries as u64, "entry"),
            counted(errors, "error"),
            counted(warnings, "warning"),
        )
    };
    let done = args.form.printed(&document, text, code);
    if args.pin && !args.form.json && live.interrupted.is_none() {
        offer(&project, &catalog, pins, interrupts)?;
    }
    Ok(done)
}

fn document_of(finding: &Finding) -> Value {
    json!({
        "code": finding.code.name(), "level": word(finding.level),
        "line": finding.place.as_ref().map(|place| place.line), "text": finding.text,
    })
}

/// `catalog.toml:12 error CAT010  sentence`
fn line(name: &str, finding: &Finding) -> String {
    let at = finding.place.as_ref();
    let at = at.map_or_else(String::new, |place| format!(":{}", place.line));
    let (level, code) = (word(finding.level), finding.code.name());
    format!("{name}{at} {level} {code}  {}\n", visible(&finding.text))
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

#[derive(Default)]
struct Live {
    findings: Vec<Finding>,
    pins: Vec<NewPin>,
    interrupted: Option<Interrupt>,
}

/// Starts every server, and reports what does not fit.
fn compared(
    project: &Project,
    tables: Option<&CatalogTables<'_>>,
    interrupts: &Interrupts,
) -> Live {
    let host = Host::new(None, None, interrupts.clone());
    let setup = Setup {
        project: project.clone(),
        capabilities: Vec::new(),
    };
    let diagnosis = examine(&setup, &host, &mut |_| ());
    // The servers have ended, and a signal may end the question about the pins.
    host.interrupts().stand_down();
    let interrupted = host.interrupts().caught();
    if let Some(signal) = interrupted {
        let name = signal.name();
        tracing::error!("interrupted by {name}; the remaining checks were not made");
    }
    let findings = diagnosis.findings.iter().filter_map(|finding| {
        let code = finding.code()?;
        let level = match (code, finding.level) {
            (Code::CAT061, _) | (_, doctor::Level::Problem) => Level::Error,
            (_, doctor::Level::Warning | doctor::Level::Good) => Level::Warning,
        };
        let remedy = finding.remedy.as_deref().unwrap_or_default();
        let text = format!("{}; {remedy}", finding.what);
        Some(Finding::about(
            tables?,
            finding.subject.table(),
            (code, level),
            &text,
        ))
    });
    Live {
        findings: findings.collect(),
        pins: diagnosis.pins,
        interrupted,
    }
}

/// The lines of the pins, as the entries would contain them.
fn shown(pins: &[NewPin]) -> String {
    let line = |NewPin { id, pin, replaces }: &NewPin| {
        let old = replaces.as_ref().map_or_else(String::new, |old| {
            format!(" # replaces the pin of {id}: {old}")
        });
        format!("[capability.{id}]\npin = \"{pin}\"{old}\n")
    };
    pins.iter().map(line).collect()
}

/// Writes the pins into the catalog if a person at the terminal agrees.
fn offer(
    project: &Project,
    catalog: &Catalog,
    pins: &[NewPin],
    interrupts: &Interrupts,
) -> Result<(), Stop> {
    if pins.is_empty() || !host::input_is_a_terminal() {
        return Ok(());
    }
    let before = CatalogFile::read(&project.catalog)?;
    let path = visible(project.catalog.as_str());
    let drifted = pins.iter().filter(|new| new.replaces.is_some());
    let drifted: Vec<&str> = drifted.map(|new| new.id.as_str()).collect();
    let replaces = match drifted.as_slice() {
        [] => String::new(),
        ids => format!(
            " This replaces the pin of {}.",
            ids.join(" and the pin of ")
        ),
    };
    let text = pinned(catalog.text(), pins)
        .map_err(|why| stop(2)(format!("{path}: no pin can be written: {why}")))?;
    let question = format!("Write these pins into {path}?{replaces} [y/N] ");
    if !terminal::agreed(&question, interrupts) {
        return Ok(());
    }
    if before.text != catalog.text().as_bytes() {
        return Err(stop(2)(format!(
            "{path} has changed since it was checked, so nothing was written; check it again"
        )));
    }
    before.replace(text.as_bytes())
}

/// The text with these pins, by the ids of their capabilities. The error says why there is no place for them.
fn pinned(text: &str, pins: &[NewPin]) -> Result<String, String> {
    if text.starts_with('\u{feff}') || text.contains('\r') {
        return Err("its text is that of Windows, so the pins have to be added by hand".to_owned());
    }
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        format!("its TOML is invalid: {}", error.message())
    })?;
    for NewPin { id, pin, .. } in pins {
        let capabilities = document.get_mut("capability");
        let entry = capabilities.and_then(|all| all.as_table_like_mut()?.get_mut(id));
        let entry = entry
            .and_then(Item::as_table_like_mut)
            .ok_or_else(|| format!("the catalog has no table [capability.{id}]"))?;
        let mut value = toml_edit::Value::from(pin.to_string());
        if let Some(old) = entry.get("pin").and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        entry.insert("pin", value.into());
    }
    Ok(document.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_the_order_of_keys_stay() {
        let pin = Pin::of("echo", None, None, None);
        let pins = ["A", "B", "C"].map(|id| NewPin {
            id: id.to_owned(),
            pin: pin.clone(),
            replaces: None,
        });
        let before = "catalog = 1 # format\n\n[capability.A] # first\nmcp   = { tool = \"echo\" }\n\n[capability.A.result]\n\
                      kind = \"metadata\"\n\n# second\n[capability.B]\npin = \"old\"   # of May\nmcp = {}\n";
        let inline = "[capability]\nC = { mcp = { tool = \"echo\" } }\n";
        let after = pinned(before, &pins[..2]).unwrap();
        assert!(pinned(&before.replacen('\n', "\r\n", 1), &pins[..2]).is_err());
        let added = format!("mcp   = {{ tool = \"echo\" }}\npin = \"{pin}\"\n");
        let expected = before
            .replace("mcp   = { tool = \"echo\" }\n", &added)
            .replace("\"old\"", &format!("\"{pin}\""));
        assert_eq!(after, expected);
        let inside = pinned(inline, &pins[2..]).unwrap();
        let parsed: toml::Table = inside.parse().unwrap();
        assert_eq!(
            parsed["capability"]["C"]["pin"].as_str(),
            Some(&*pin.to_string())
        );
        assert!(pinned(before, &pins).is_err());
    }
}
