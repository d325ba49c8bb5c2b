//! `oneact recover`: settles interrupted plans without a task. Every run does this first.

use std::{
    io::{self, IsTerminal, Write as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::json;

use crate::{
    host::{Host, Interrupts},
    perform::{self, Consent},
    task::visible,
};

use super::{
    Stop, printed,
    printing::columns,
    rollback::below,
    settings::PlaceArgs,
    terminal::{agreed, hanging},
};

#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// Settle the plan of this report directory, even if its journal was not written at its present place. The
    /// changes are shown first
    #[arg(value_name = "REPORT_DIR")]
    plan: Option<Utf8PathBuf>,
    /// Make the changes without asking
    #[arg(long, requires = "plan")]
    yes: bool,
    /// Print one JSON document, `{"settled": […]}`, instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) fn run(args: &RecoverArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let project = args.places.project()?;
    let settled = match &args.plan {
        None => perform::recover(&project, &host),
        Some(plan) => {
            let path = below(&project.root, plan);
            let mut ask = |lines: &[String]| asked(&path, lines, args.yes, host.interrupts());
            perform::recover_named(&path, &mut ask, &project, &host)
        }
    };
    host.interrupts().stand_down();
    let code = match host.interrupts().caught() {
        Some(interrupt) if settled.open > 0 => 128 + interrupt.number(),
        _ => u8::from(settled.open > 0),
    };
    let text = if args.json {
        json!({ "settled": settled.told }).to_string() + "\n"
    } else if settled.told.is_empty() {
        "No plan is unfinished.\n".to_owned()
    } else {
        let lines = settled.told.iter().map(|line| visible(line) + "\n");
        lines.collect()
    };
    Ok(printed(text, code))
}

/// What is to be agreed to, in lines of at most that many columns. Only the first one begins at the left edge.
fn changes(path: &str, lines: &[String], columns: usize) -> String {
    let title = format!("To settle {}, oneact would:", visible(path));
    let mut shown = hanging(&title, columns, 4) + "\n";
    for line in lines {
        shown.extend(["  ", &hanging(&visible(line), columns, 4), "\n"]);
    }
    shown
}

fn asked(path: &str, lines: &[String], yes: bool, interrupts: &Interrupts) -> Consent {
    let mut stderr = io::stderr();
    let shown = changes(path, lines, columns());
    // If the changes cannot be shown, nobody can agree to them.
    if stderr.write_all(shown.as_bytes()).is_err() {
        return Consent::Refused;
    }
    if yes {
        return Consent::Given;
    }
    if !io::stdin().is_terminal() {
        let _ = writeln!(
            stderr,
            "oneact cannot ask without a terminal. Use --yes to make these changes."
        );
        return Consent::Refused;
    }
    if agreed("Make these changes? [y/N] ", interrupts) {
        Consent::Given
    } else {
        Consent::Refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_change_is_indented_in_all_its_lines() {
        let change = format!("restore {}", "a/".repeat(100));
        let shown = changes("a\nb", &[change.clone(), change], 60);
        assert!(
            shown.starts_with("To settle a^Jb, oneact would:\n"),
            "{shown}"
        );
        for line in shown.lines().skip(1) {
            assert!(line.starts_with("  ") && line.len() <= 60, "{line:?}");
        }
    }
}
