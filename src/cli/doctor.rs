//! `oneact doctor`: checks whether everything that runs need is there. It prints for each finding a mark, what was
//! seen and a remedy, in 80 columns, or one JSON document, described by `schemas/doctor.schema.json`.

use std::{io, process::ExitCode};

use clap::Args;
use serde_json::json;

use crate::{
    doctor::{Diagnosis, Finding, Level, Setup, examine},
    host::{Host, Interrupts},
    task::visible,
};

use super::{
    ended::{Stop, json_line, printed},
    logs,
    settings::FormArgs,
    streams::print,
    terminal::{fit, hanging, width},
};

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Check only these capabilities and what they need [default: the whole catalog]
    #[arg(value_name = "CAPABILITY")]
    capabilities: Vec<String>,
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &DoctorArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let project = args.form.places.project();
    let setup = Setup {
        project: project.map_err(|stop| Stop { code: 1, ..stop })?,
        capabilities: args.capabilities.clone(),
    };
    if args.form.json {
        let diagnosis = examine(&setup, &host, &mut |_| ());
        return Ok(printed(document(&setup, &diagnosis), exit_code(&diagnosis)));
    }
    let mark = if logs::in_colours(&io::stdout()) {
        |mark: &str, colour| logs::in_colour(mark, colour)
    } else {
        |mark: &str, _| mark.to_owned()
    };
    let mut told = Ok(());
    // An entry that is as it should be is one line only where it was asked for: a catalog can have hundreds.
    let all = !args.capabilities.is_empty() || logs::is_verbose();
    let diagnosis = examine(&setup, &host, &mut |finding| {
        if told.is_ok() && (all || !finding.is_of_a_good_entry()) {
            told = print(text(finding, mark).as_bytes());
        }
    });
    Ok(match told {
        Ok(()) => printed(verdict(&diagnosis), exit_code(&diagnosis)),
        Err(_) => ExitCode::FAILURE,
    })
}

fn exit_code(diagnosis: &Diagnosis) -> u8 {
    match diagnosis.interrupted {
        Some(signal) => 128 + signal.number(),
        None => u8::from(diagnosis.count(Level::Problem) > 0),
    }
}

fn document(setup: &Setup, diagnosis: &Diagnosis) -> String {
    let (project, problems) = (&setup.project, diagnosis.count(Level::Problem));
    let verdict = match diagnosis.interrupted {
        Some(_) => "interrupted",
        None if problems > 0 => "wrong",
        None => "well",
    };
    json_line(&json!({
        "oneact": env!("CARGO_PKG_VERSION"),
        "root": project.root.as_str(), "catalog": project.catalog.as_str(), "state_dir": project.state_dir.as_str(),
        "verdict": verdict, "problems": problems, "warnings": diagnosis.count(Level::Warning),
        "not_ready": diagnosis.not_ready(), "findings": diagnosis.findings, "servers": diagnosis.servers,
    }))
}

const COLUMNS: usize = 80;

fn text(finding: &Finding, mark: impl Fn(&str, u8) -> String) -> String {
    let mark = match finding.level {
        Level::Good => mark("✓", 32),
        Level::Warning => mark("!", 33),
        Level::Problem => mark("✗", 31),
    };
    let said = format!("{}: {}", finding.subject, finding.what);
    let detail = finding.detail.iter();
    let detail = detail.map(|line| quoted(line));
    let remedy = finding.remedy.iter();
    let remedy = remedy.map(|remedy| format!("  → {}\n", lines(remedy, 4)));
    let what = format!("{mark} {}\n", lines(&said, 2));
    [what].into_iter().chain(detail).chain(remedy).collect()
}

/// A text in lines of 80 columns. All but the first begin with that many spaces. With a longer word, such as a path or a
/// command, the lines are as long as it is: it stays whole, so that it can be copied.
fn lines(text: &str, blanks: usize) -> String {
    let text = visible(text);
    let longest = text.split(' ').map(width).max().unwrap_or(0);
    hanging(&text, COLUMNS.max(longest + blanks), blanks)
}

/// The last lines: the verdict, and which capabilities can be used.
fn verdict(diagnosis: &Diagnosis) -> String {
    let problems = diagnosis.count(Level::Problem);
    let warnings = diagnosis.count(Level::Warning);
    let words = match (diagnosis.interrupted, problems, warnings) {
        (Some(signal), ..) => format!(
            "Interrupted by {}; the remaining checks were not made.",
            signal.name()
        ),
        (None, 0, 0) => "No problems.".to_owned(),
        (None, 0, _) => format!("No problems. Warnings: {warnings}."),
        (None, _, _) => {
            format!("Problems: {problems}, warnings: {warnings}.")
        }
    };
    let not_ready = diagnosis.not_ready();
    if diagnosis.interrupted.is_some() || not_ready.is_empty() {
        return format!("\n{words}\n");
    }
    let all = diagnosis.capabilities.len();
    let ready = format!(
        "Ready: {} of {all} capabilities. Not ready: {}. Tasks that name one of these capabilities fail until \
         it is set up; all other tasks can be performed.",
        all - not_ready.len(),
        not_ready.join(", ")
    );
    format!("\n{words}\n{}\n", lines(&ready, 0))
}

/// A line of another program.
fn quoted(line: &str) -> String {
    format!("  | {}\n", fit(&visible(line), COLUMNS - 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_word_stays_whole() {
        let path = "p".repeat(COLUMNS);
        let said = lines(&format!("it is in {path} {}", "and there ".repeat(9)), 2);
        assert!(said.contains(&path) && said.contains('\n'), "{said}");
    }

    #[test]
    fn what_a_server_writes_does_not_steer_the_terminal() {
        assert_eq!(quoted("\x1b[2Jgone"), "  | ^[[2Jgone\n");
        let long = quoted(&"音".repeat(COLUMNS));
        assert!(width(long.trim_end()) <= COLUMNS, "{long}");
    }
}
