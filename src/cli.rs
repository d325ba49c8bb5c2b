//! The command line, and the only writer of stdout. One file per verb, or per family of verbs.

mod approve;
mod arguments;
mod call;
mod catalog;
mod decide;
mod diff;
mod doctor;
mod ended;
mod help;
mod history;
mod import;
mod init;
mod logs;
mod manual;
mod owner;
mod printing;
mod recover;
mod replay;
mod report;
mod rollback;
mod run;
mod serve;
mod sessions;
mod settings;
mod show;
mod signs;
mod streams;
mod terminal;
mod told;
mod tools;
mod verify;
mod warm;
mod watched;

use std::{ffi::OsString, process::ExitCode};

use clap::{
    Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum as _, error::ErrorKind,
};

use crate::perform::{ARGUMENT, HOLD, Reply, child};
use crate::{
    host::{Host, Interrupts, keep_own_files, look_for_children, stdout_is_unusable},
    task::{identity_lines, visible_lines},
};
use arguments::{flags_last, help_as_flag, is_verbose};
use ended::{Stop, printed};
use settings::{RunArgs, TaskArgs};
use watched::AnswerForm;

/// Perform one agent action: one JSON task on stdin, one JSON result on stdout.
///
/// The task names a capability. oneact looks it up in catalog.toml, calls the tool of that capability on an MCP
/// server over stdio, checks and stores the result, and prints one envelope.
#[derive(Debug, Default, Parser)]
#[command(
    name = "oneact",
    bin_name = "oneact",
    version,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    logs: logs::LogArgs,
}

// The flags of a verb are built only for the verb that is called.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Perform the task on stdin or in FILE (the default subcommand)
    Run(TaskArgs),
    /// Perform one call with parameters from the command line
    Call(call::CallArgs),
    /// Apply a diff as a file plan: all of it, or nothing
    Apply(diff::ApplyArgs),
    /// Make a file plan, and print it
    Plan(diff::PlanArgs),
    /// Undo a finished file plan, completely or in part
    Rollback(rollback::RollbackArgs),
    /// Print what a finished file plan did
    Report(report::ReportArgs),
    /// Settle file plans that a crash interrupted (every run does this first)
    Recover(recover::RecoverArgs),
    /// List the steps of a session, or state why a step ran or not
    History(history::HistoryArgs),
    /// List the sessions: when they were used, their steps and failures
    Sessions(sessions::SessionsArgs),
    /// Print one answer with its parameters, outputs and checks
    Show(show::ShowArgs),
    /// Print a recorded session or answer, or perform a step again and compare
    Replay(replay::ReplayArgs),
    /// Check that the ledger is unchanged
    Verify(verify::VerifyArgs),
    /// Settle an operation whose outcome is unknown
    Resolve(decide::ResolveArgs),
    /// Revoke an answer, so that it is never returned again
    Revoke(decide::RevokeArgs),
    /// Record a person's judgement of an answer
    Review(decide::ReviewArgs),
    /// Close a grant, so that no further call is made under it
    Close(decide::CloseArgs),
    /// Remove old requests and responses from the ledger; the chain stays
    Prune(decide::PruneArgs),
    /// List the requests that wait for an approval, or print one
    Approvals(approve::ApprovalsArgs),
    /// Approve a request: the next run of the same task performs it, once
    Approve(approve::ApproveArgs),
    /// Deny a request
    Deny(approve::VoteArgs),
    /// List, find, render and check the entries of the catalog
    Catalog(catalog::CatalogArgs),
    /// Add the servers of an MCP configuration, and their tools, to the catalog
    Import(import::ImportArgs),
    /// Add one MCP server and its tools to the catalog
    Add(import::AddArgs),
    /// List the tools of the servers in the catalog, with their parameters
    Tools(tools::ToolsArgs),
    /// Run the catalog or a built-in tool server as an MCP server on stdio, or the catalog over HTTP
    Serve(serve::ServeArgs),
    /// List or end the servers that are kept between runs
    Warm(warm::WarmArgs),
    /// Perform the tasks on stdin, one per line, for `oneact serve catalog`
    #[command(hide = true)]
    Supervise(RunArgs),
    /// Print the JSON Schema of a document that oneact reads or prints
    Schema(manual::SchemaArgs),
    /// Write a starter catalog and its documents
    Init(init::InitArgs),
    /// Check the catalog, the ledger, the asset store and every tool server
    Doctor(doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions(manual::CompletionArgs),
    /// Print a manual page (roff)
    Man(manual::ManArgs),
}

pub fn main() -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "the door is where arguments come in"
    )]
    let args: Vec<OsString> = std::env::args_os().collect();
    // The child of a plan is no verb: it answers on a socket, and keeps the default actions of signals.
    if args.get(1).is_some_and(|first| first == ARGUMENT) {
        return child();
    }
    let interrupts = Interrupts::catch();
    keep_own_files();
    look_for_children();
    // Nor is the process that holds a server between runs.
    if args.get(1).is_some_and(|first| first == HOLD) {
        return warm::hold_server(interrupts);
    }
    let args = flags_last(help_as_flag(args), Cli::command);
    match parse(&args) {
        Ok(cli) => {
            logs::start(cli.logs);
            tracing::debug!("started");
            if let Some(why) = stdout_is_unusable() {
                tracing::error!(
                    "stdout is {why}, so the answer cannot be returned; nothing was performed"
                );
                return ExitCode::from(2);
            }
            let on_stdin = TaskArgs {
                file: None,
                approved: None,
                run: cli.run,
            };
            let done = perform(cli.verb.unwrap_or(Verb::Run(on_stdin)), interrupts);
            done.unwrap_or_else(|Stop { code, why }| {
                tracing::error!("{why}");
                ExitCode::from(code)
            })
        }
        Err(error) => refuse(&error, &args, interrupts),
    }
}

/// Runs the verb. A signal cancels a verb that works on files or servers, and ends the process of any other verb.
fn perform(verb: Verb, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    // A server may be slow to end, and nothing else ends these verbs.
    let is_ended = match &verb {
        Verb::Replay(args) => args.execute,
        Verb::Catalog(args) => args.starts_servers(),
        Verb::Doctor(_) | Verb::Import(_) | Verb::Add(_) | Verb::Tools(_) => true,
        _ => false,
    };
    let performs = matches!(&verb, Verb::Approve(args) if args.run);
    let heeds = is_ended
        || performs
        || matches!(
            verb,
            Verb::Run(_)
                | Verb::Call(_)
                | Verb::Apply(_)
                | Verb::Rollback(_)
                | Verb::Recover(_)
                | Verb::Supervise(_)
        );
    if !heeds {
        interrupts.stand_down();
        if let Some(interrupt) = interrupts.caught() {
            return Ok(ExitCode::from(128 + interrupt.number()));
        }
    }
    if is_ended {
        watched::end_after_signal(interrupts.clone());
    }
    match verb {
        Verb::Run(args) => Ok(run::run(&args, AnswerForm::Document, interrupts)),
        Verb::Call(args) => Ok(call::call(&args, interrupts)),
        Verb::Apply(args) => diff::apply(args, interrupts),
        Verb::Plan(args) => diff::plan(&args, interrupts),
        Verb::Rollback(args) => rollback::run(&args, interrupts),
        Verb::Report(args) => report::run(&args, interrupts),
        Verb::Recover(args) => recover::run(&args, interrupts),
        Verb::History(args) => history::run(&args, interrupts),
        Verb::Sessions(args) => sessions::run(&args, interrupts),
        Verb::Show(args) => show::run(&args, interrupts),
        Verb::Replay(args) => replay::run(&args, interrupts),
        Verb::Verify(args) => verify::run(&args, interrupts),
        Verb::Resolve(args) => decide::resolve(&args, interrupts),
        Verb::Revoke(args) => decide::revoke(&args, interrupts),
        Verb::Review(args) => decide::review(&args, interrupts),
        Verb::Close(args) => decide::close(&args, interrupts),
        Verb::Prune(args) => decide::prune(&args, interrupts),
        Verb::Approvals(args) => approve::list(&args, interrupts),
        Verb::Approve(args) => approve::approve(&args, interrupts),
        Verb::Deny(args) => approve::deny(&args, interrupts),
        Verb::Catalog(args) => catalog::run(&args, interrupts),
        Verb::Import(args) => import::import(&args, interrupts),
        Verb::Add(args) => import::add(&args, interrupts),
        Verb::Tools(args) => tools::run(&args, interrupts),
        Verb::Serve(args) => serve::run(&args, interrupts),
        Verb::Supervise(args) => serve::supervise(&args, interrupts),
        Verb::Warm(args) => warm::run(&args),
        Verb::Schema(args) => Ok(manual::schema(&args)),
        Verb::Init(args) => init::run(&args),
        Verb::Doctor(args) => doctor::run(&args, interrupts),
        Verb::Completions(args) => Ok(manual::completions(&args, command())),
        Verb::Man(args) => manual::man(&args, command()),
    }
}

/// Parses the arguments, of which [`flags_last`] has moved the flags behind the verb.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    if args.len() == 1 {
        // Most runs have no flags, and building the parser takes time.
        return Ok(Cli::default());
    }
    Cli::try_parse_from(args).map_err(|error| match error.kind() {
        // Only help needs the pages.
        ErrorKind::DisplayHelp => command().try_get_matches_from(args).err().unwrap_or(error),
        _ => error,
    })
}

fn command() -> Command {
    help::with_pages(Cli::command())
}

/// Prints help and version. Wrong flags of a run are answered with an envelope.
fn refuse(error: &clap::Error, args: &[OsString], interrupts: Interrupts) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let shown = error.print();
            if error.kind() == ErrorKind::DisplayVersion && args.iter().any(is_verbose) {
                return printed(identity_lines(), u8::from(shown.is_err()));
            }
            // The standard library ignores EBADF on stdout.
            return if shown.is_ok() && stdout_is_unusable().is_none() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            };
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // The arguments that it quotes may be foreign text.
            streams::tell(&visible_lines(&error.render().to_string()));
            return ExitCode::from(2);
        }
        _ => logs::start(logs_of(args)),
    }
    // The first word may be the value of a flag, so it counts as a verb only if it is the name of one.
    let mut words = args.iter().skip(1).map(|arg| arg.to_string_lossy());
    let word = words.find(|word| !word.starts_with('-'));
    let verb = word.filter(|word| Cli::command().find_subcommand(word.as_ref()).is_some());
    let (hint, help, form) = match verb.as_deref() {
        Some("call") => (call::hint(error), "oneact call", AnswerForm::of_call(None)),
        Some("apply") => (None, "oneact apply", AnswerForm::of_call(None)),
        Some("run") | None => (run::file_hint(error), "oneact", AnswerForm::Document),
        Some(verb) => {
            logs::failed(&run::misused(error, None, &format!("oneact {verb}")));
            return ExitCode::from(2);
        }
    };
    let failure = run::misused(error, hint.as_deref(), help);
    let host = Host::new(None, None, interrupts);
    run::refuse(failure, (form, reply_of(args)), host)
}

/// The form of the answer that a command line asks for which cannot be used.
fn reply_of(args: &[OsString]) -> Reply {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let joined = words.iter().find_map(|word| word.strip_prefix("--reply="));
    let apart = words.iter().position(|word| word == "--reply");
    let apart = apart.and_then(|at| words.get(at + 1)).map(AsRef::as_ref);
    let said = joined.or(apart).unwrap_or_default();
    Reply::from_str(said, false).unwrap_or_default()
}

/// The flags about stderr of a command line that cannot be used.
fn logs_of(args: &[OsString]) -> logs::LogArgs {
    let read = Cli::command()
        .ignore_errors(true)
        .try_get_matches_from(args);
    let read = read.and_then(|read| logs::LogArgs::from_arg_matches(&read));
    read.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_flags_everything_is_as_the_parser_would_have_it() {
        let parsed = Cli::try_parse_from(["oneact"]).unwrap();
        let short = parse(&["oneact".into()]).unwrap();
        assert_eq!(format!("{short:?}"), format!("{parsed:?}"));
    }
}
