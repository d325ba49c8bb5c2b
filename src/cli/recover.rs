//! `oneact recover`: settles interrupted plans without a task. Every run does this first.

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use camino::Utf8PathBuf;
use clap::Args;
use serde_json::json;

use crate::{
    host::{self, Host, Interrupts},
    perform::{self, Consent},
    task::visible,
};

use super::{
    ended::{Stop, code_or_signal},
    printing::columns,
    rollback::below,
    settings::FormArgs,
    streams::tell,
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
    #[command(flatten)]
    form: FormArgs,
}

pub(super) fn run(args: &RecoverArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let host = Host::new(None, None, interrupts);
    let project = args.form.places.project()?;
    let settled = match &args.plan {
        None => perform::recover(&project, &host),
        Some(plan) => {
            let yes = if args.yes {
                Consent::Given
            } else {
                Consent::Refused
            };
            let path = below(&project.root, plan);
            let mut ask = |lines: &[String]| asked(&path, lines, yes, host.interrupts());
            perform::recover_named(&path, &mut ask, &project, &host)
        }
    };
    host.interrupts().stand_down();
    let code = match settled.open {
        0 => 0,
        _ => code_or_signal(1, host.interrupts()),
    };
    let text = || {
        if settled.told.is_empty() {
            return "No plan is unfinished.\n".to_owned();
        }
        let lines = settled.told.iter().map(|line| visible(line) + "\n");
        lines.collect()
    };
    let document = json!({ "settled": settled.told });
    Ok(args.form.printed(&document, text, code))
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

fn asked(path: &str, lines: &[String], yes: Consent, interrupts: &Interrupts) -> Consent {
    let shown = changes(path, lines, columns());
    // If the changes cannot be shown, nobody can agree to them.
    let is_agreed = if yes == Consent::Given {
        io::stderr().write_all(shown.as_bytes()).is_ok()
    } else if host::input_is_a_terminal() {
        agreed(&format!("{shown}Make these changes? [y/N] "), interrupts)
    } else {
        tell(&format!(
            "{shown}oneact cannot ask without a terminal. Use --yes to make these changes.\n"
        ));
        false
    };
    if is_agreed {
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
