//! The command line, and the only writer of stdout. One file per verb, or per family of verbs.

mod approve;
mod catalog;
mod decide;
mod doctor;
mod history;
mod init;
mod logs;
mod manual;
mod owner;
mod printing;
mod recover;
mod replay;
mod rollback;
mod run;
mod selftest;
mod serve;
mod settings;
mod show;
mod streams;
mod terminal;
mod verify;

use std::{error::Error, ffi::OsString, io, process::ExitCode, sync::atomic::AtomicUsize};

use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind};

use crate::perform::{ARGUMENT, child};
use crate::{
    host::{Interrupts, keep_own_files, look_for_children, stdout_is_unusable},
    task::{identity_lines, visible_json},
};
use settings::{RunArgs, TaskArgs};

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
#[command(after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: RunArgs,
    #[command(flatten)]
    logs: logs::LogArgs,
}

const EXIT_CODES: &str = "\
Exit codes of a run:
  0    complete
  1    failed; do not retry
  2    rejected: nothing ran; fix the request or the catalog
  3    pending: an approval, a review, input or a clarification is missing,
       or another run is performing the same request
  75   failed; a retry may help (error.recoverable is true)
  128 + n   cancelled by signal n (SIGHUP: 129, SIGINT: 130, SIGTERM: 143);
       unfinished changes are undone";

// The flags of a verb are built only for the verb that is called.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Verb {
    /// Perform the task on stdin or in FILE (the default subcommand)
    Run(TaskArgs),
    /// Undo a finished file plan, completely or in part
    #[command(after_help = rollback::EXIT_CODES)]
    Rollback(rollback::RollbackArgs),
    /// Settle file plans that a crash interrupted (every run does this first)
    #[command(after_help = recover::EXIT_CODES)]
    Recover(recover::RecoverArgs),
    /// List the steps of a session, or state why one of them ran or not
    History(history::HistoryArgs),
    /// Print one answer with its parameters, outputs and checks
    Show(show::ShowArgs),
    /// Print a recorded session or answer, write the session as a page, or perform a step again and compare
    #[command(after_help = replay::EXIT_CODES)]
    Replay(replay::ReplayArgs),
    /// Check that the ledger is unchanged
    #[command(after_help = verify::EXIT_CODES)]
    Verify(verify::VerifyArgs),
    /// Settle an operation whose outcome is unknown
    #[command(after_help = decide::EXIT_CODES)]
    Resolve(decide::ResolveArgs),
    /// Revoke an answer, so that it is never returned again
    #[command(after_help = decide::EXIT_CODES)]
    Revoke(decide::RevokeArgs),
    /// Record a person's judgement of an answer
    #[command(after_help = decide::EXIT_CODES)]
    Review(decide::ReviewArgs),
    /// Close a grant, so that no further call is made under it
    #[command(after_help = decide::EXIT_CODES)]
    Close(decide::CloseArgs),
    /// Remove old requests and responses from the ledger; the chain stays
    #[command(after_help = decide::EXIT_CODES)]
    Prune(decide::PruneArgs),
    /// List the requests that wait for an approval, or print one
    Approvals(approve::ApprovalsArgs),
    /// Approve a request: the next run of the same task performs it, once
    #[command(after_help = approve::EXIT_CODES)]
    Approve(approve::ApproveArgs),
    /// Deny a request
    #[command(after_help = approve::EXIT_CODES)]
    Deny(approve::VoteArgs),
    /// List, find, render and check the entries of the catalog
    Catalog(catalog::CatalogArgs),
    /// Run the catalog or a built-in tool server as an MCP server on stdio
    Serve(serve::ServeArgs),
    /// Perform the tasks on stdin, one per line, for `oneact serve catalog`
    #[command(hide = true)]
    Supervise(RunArgs),
    /// Print the JSON Schema of a document that oneact reads or prints
    Schema(manual::SchemaArgs),
    /// Write a starter catalog and its documents
    Init(init::InitArgs),
    /// Check the setup: the catalog, the asset store and every tool server (each server is started)
    #[command(after_help = doctor::EXIT_CODES)]
    Doctor(doctor::DoctorArgs),
    /// Test on a file system that a file plan is applied completely or not at all
    #[command(after_help = selftest::EXIT_CODES)]
    Selftest(selftest::SelftestArgs),
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
    let args = flags_last(args);
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
        Verb::Doctor(_) => true,
        _ => false,
    };
    let performs = matches!(&verb, Verb::Approve(args) if args.run);
    let heeds = is_ended
        || performs
        || matches!(
            verb,
            Verb::Run(_)
                | Verb::Rollback(_)
                | Verb::Recover(_)
                | Verb::Supervise(_)
                | Verb::Selftest(_)
        );
    if !heeds {
        interrupts.stand_down();
        if let Some(interrupt) = interrupts.caught() {
            return Ok(ExitCode::from(128 + interrupt.number()));
        }
    }
    if is_ended {
        run::end_after_signal(interrupts.clone());
    }
    match verb {
        Verb::Run(args) => Ok(run::run(&args, interrupts)),
        Verb::Rollback(args) => rollback::run(&args, interrupts),
        Verb::Recover(args) => recover::run(&args, interrupts),
        Verb::History(args) => history::run(&args, interrupts),
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
        Verb::Serve(args) => serve::run(&args, interrupts),
        Verb::Supervise(args) => serve::supervise(&args, interrupts),
        Verb::Schema(args) => Ok(manual::schema(&args)),
        Verb::Init(args) => init::run(&args),
        Verb::Doctor(args) => doctor::run(&args, interrupts),
        Verb::Selftest(args) => selftest::run(&args, interrupts),
        Verb::Completions(args) => Ok(manual::completions(&args, Cli::command())),
        Verb::Man(args) => manual::man(&args, Cli::command()),
    }
}

/// Parses the arguments, of which [`flags_last`] has moved the flags behind the verb.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    if args.len() == 1 {
        // Most runs have no flags, and building the parser takes time.
        return Ok(Cli::default());
    }
    Cli::try_parse_from(args)
}

/// The same arguments with the flags in front of a verb at their end: flags may stand anywhere.
fn flags_last(mut args: Vec<OsString>) -> Vec<OsString> {
    let mut cli = Cli::command();
    let leads = |first: &OsString| first == "catalog" || first.as_encoded_bytes().starts_with(b"-");
    let is_verb = |arg: &OsString| cli.find_subcommand(arg).is_some();
    // Most calls have no such flag, and building the whole parser takes time. Only `catalog` has verbs of its own.
    if !args.get(1).is_some_and(leads) || !args.iter().any(is_verb) {
        return args;
    }
    cli.build();
    let (mut command, mut from, mut moved) = (&cli, 1, Vec::new());
    while let Some((at, verb)) = next_verb(args.get(from..).unwrap_or_default(), command, &cli) {
        moved.extend(args.drain(from..from + at));
        (command, from) = (verb, from + 1);
    }
    // What follows `--` is no flag.
    let end = args.iter().position(|arg| arg == "--");
    let end = end.unwrap_or(args.len());
    args.splice(end..end, moved);
    args
}

/// The first verb of a command with only flags in front of it, and its place.
fn next_verb<'c>(
    args: &[OsString],
    command: &'c Command,
    cli: &Command,
) -> Option<(usize, &'c Command)> {
    args.iter().enumerate().find_map(|(at, arg)| {
        let verb = command.find_subcommand(arg)?;
        let known = [flags(cli), all_flags(verb)].concat();
        are_flags(args.get(..at)?, &known).then_some((at, verb))
    })
}

/// The flags of a command, but not those that print something and end.
fn flags(command: &Command) -> Vec<&Arg> {
    let is_flag =
        |arg: &&Arg| !arg.is_positional() && !["help", "version"].contains(&arg.get_id().as_str());
    command.get_arguments().filter(is_flag).collect()
}

/// The flags of a verb and of the verbs below it.
fn all_flags(verb: &Command) -> Vec<&Arg> {
    let below = verb.get_subcommands().flat_map(all_flags);
    flags(verb).into_iter().chain(below).collect()
}

/// Whether all these arguments are such flags, with their values.
fn are_flags(args: &[OsString], flags: &[&Arg]) -> bool {
    let mut words = args.iter().map(|arg| arg.to_string_lossy());
    while let Some(word) = words.next() {
        match takes_next(&word, flags) {
            Some(takes) if !takes || words.next().is_some() => {}
            Some(_) | None => return false,
        }
    }
    true
}

/// Whether the next argument is the value of this flag. `None` if it is none of these flags.
fn takes_next(word: &str, flags: &[&Arg]) -> Option<bool> {
    let (flag, is_whole) = if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unzip();
        let name = name.unwrap_or(long);
        let flag = flags.iter().find(|flag| flag.get_long() == Some(name));
        (flag, value.is_some())
    } else {
        let mut shorts = word.strip_prefix('-')?.chars();
        let name = shorts.next()?;
        let flag = flags.iter().find(|flag| flag.get_short() == Some(name));
        (flag, shorts.next().is_some())
    };
    Some(flag?.get_action().takes_values() && !is_whole)
}

/// Whether the argument asks for more words: `--verbose`, `-v`, `-vV`.
fn is_verbose(arg: &OsString) -> bool {
    let arg = arg.to_string_lossy();
    arg == "--verbose" || (arg.starts_with('-') && !arg.starts_with("--") && arg.contains('v'))
}

/// Prints help and version. Wrong flags of a run are answered with an envelope.
fn refuse(error: &clap::Error, args: &[OsString], interrupts: Interrupts) -> ExitCode {
    // The first word may be the value of a flag, so it counts as a verb only if it is the name of one.
    let word = args
        .iter()
        .skip(1)
        .find(|arg| !arg.to_string_lossy().starts_with('-'));
    let cli = Cli::command();
    let verb = cli
        .get_subcommands()
        .find(|verb| word.is_some_and(|word| word == verb.get_name()));
    let of_run = verb.is_none_or(|verb| verb.get_name() == "run");
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let shown = error.print();
            if error.kind() == ErrorKind::DisplayVersion && args.iter().any(is_verbose) {
                return printed(identity_lines(), u8::from(shown.is_err()));
            }
            // The standard library ignores EBADF on stdout.
            if shown.is_ok() && stdout_is_unusable().is_none() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        _ if of_run => {
            let read = Cli::command()
                .ignore_errors(true)
                .try_get_matches_from(args);
            let read = read.and_then(|read| logs::LogArgs::from_arg_matches(&read));
            logs::start(read.unwrap_or_default());
            run::refuse(error, interrupts)
        }
        _ => {
            streams::tell(error);
            ExitCode::from(2)
        }
    }
}

/// Why a verb stopped, and its exit code.
struct Stop {
    code: u8,
    why: String,
}

impl Stop {
    /// The same with the exit code of a refused command.
    fn refused(self) -> Self {
        Self { code: 2, ..self }
    }
}

impl<E: Error> From<E> for Stop {
    fn from(error: E) -> Self {
        stop(1)(error)
    }
}

fn stop<W: ToString>(code: u8) -> impl FnOnce(W) -> Stop {
    move |why| Stop {
        code,
        why: why.to_string(),
    }
}

/// Prints the result of a verb, and returns its exit code, which tells a signal also if nobody reads the result.
fn printed(text: impl AsRef<[u8]>, code: u8) -> ExitCode {
    match print(text.as_ref()) {
        Err(_) if code < 128 => ExitCode::FAILURE,
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

/// Writes all bytes to stdout and flushes it, or reports the error on stderr. Control characters that JSON leaves
/// unescaped are escaped here, because the text may quote foreign text.
fn print(bytes: &[u8]) -> Result<(), io::Error> {
    print_unless(bytes, &AtomicUsize::new(0), &|| false)
}

/// Like [`print()`], and counts the bytes that the reader has taken. `stop` ends the waiting for a slow reader.
fn print_unless(
    bytes: &[u8],
    taken: &AtomicUsize,
    stop: &dyn Fn() -> bool,
) -> Result<(), io::Error> {
    let text = std::str::from_utf8(bytes).map(visible_json);
    let bytes = text.as_ref().map_or(bytes, |text| text.as_bytes());
    streams::write(bytes, taken, stop).inspect_err(|error| {
        tracing::error!(%error, "cannot write to stdout: the reader has closed it, or the disk is full");
    })
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

    #[test]
    fn no_line_about_exit_codes_is_broken() {
        let cli = Cli::command();
        for verb in cli.get_subcommands().chain([&cli]) {
            let about = verb.get_after_help().map(ToString::to_string);
            let long = about.iter().flat_map(|text| text.lines());
            let long: Vec<_> = long.filter(|line| line.chars().count() > 100).collect();
            assert!(long.is_empty(), "{long:?}");
        }
    }
}
