//! `oneact completions SHELL`: what a shell needs to complete oneact's command line.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use super::print;

/// For which shell.
#[derive(Debug, Args)]
pub(super) struct CompletionArgs {
    /// The shell; load its script as its manual says, e.g. bash: source <(oneact completions bash)
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
pub(super) fn run(args: &CompletionArgs, mut cli: Command) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli, "oneact", &mut script);
    match print(&script) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
