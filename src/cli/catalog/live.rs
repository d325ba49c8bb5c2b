//! `oneact catalog check --live`: compares the catalog with the running servers, as `oneact doctor` does. `--pin` binds
//! entries to the tools of now.

use std::io::{self, IsTerminal as _};

use crate::{
    catalog::{Catalog, CatalogTables, Code, Finding, Level, pinned},
    cli::{Stop, stop, terminal},
    doctor::{self, Setup, examine},
    host::{Host, Interrupt, Interrupts},
    record::Project,
    task::{Pin, visible},
};

use super::change::Before;

#[derive(Default)]
pub(super) struct Live {
    pub(super) findings: Vec<Finding>,
    /// The pins of tools that the catalog does not have, by the ids of their capabilities.
    pub(super) pins: Vec<(String, Pin)>,
    pub(super) interrupted: Option<Interrupt>,
}

/// Starts every server, and reports what does not fit.
pub(super) fn compared(
    project: &Project,
    tables: Option<&CatalogTables<'_>>,
    interrupts: Interrupts,
) -> Live {
    let host = Host::new(None, None, interrupts);
    let setup = Setup {
        project: project.clone(),
        capabilities: Vec::new(),
    };
    let diagnosis = examine(&setup, &host, &mut |_| ());
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
        interrupted: diagnosis.interrupted,
    }
}

/// The lines of the pins, as the entries would contain them.
pub(super) fn shown(pins: &[(String, Pin)]) -> String {
    let line = |(id, pin): &(String, Pin)| format!("[capability.{id}]\npin = \"{pin}\"\n");
    pins.iter().map(line).collect()
}

/// Writes the pins into the catalog if a person at the terminal agrees.
pub(super) fn offer(
    project: &Project,
    catalog: &Catalog,
    pins: &[(String, Pin)],
) -> Result<(), Stop> {
    if pins.is_empty() || !io::stdin().is_terminal() {
        return Ok(());
    }
    let before = Before::read(&project.catalog)?;
    let path = visible(project.catalog.as_str());
    if !terminal::agreed(&format!("Write these pins into {path}? [y/N] ")) {
        return Ok(());
    }
    if before.text != catalog.text().as_bytes() {
        return Err(stop(2)(format!(
            "{path} has changed since it was checked, so nothing was written; check it again"
        )));
    }
    let text = pinned(catalog.text(), pins).map_err(stop(2))?;
    before.replace(text.as_bytes())
}
