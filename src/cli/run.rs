//! `oneact run`: reads a task, prints an envelope and returns an exit code.

use std::{
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::Arc,
    thread,
};

use camino::{Utf8Path, Utf8PathBuf};
use clap::error::{ContextKind, ContextValue};

use crate::{
    host::{Host, Interrupts, Moment},
    people,
    perform::{Answer, Arrived, Mode, Project, Reply, Settings, Through, broken, perform},
    task::{Course, Failure, Fault, Nameable, OperationId},
};

use super::{
    ended::{Stop, stop},
    settings::{RunArgs, TaskArgs},
    signs::Signs,
    streams,
    terminal::ProgressDisplay,
    watched::{AnswerForm, Watched},
};

pub(super) fn run(args: &TaskArgs, form: AnswerForm, interrupts: Interrupts) -> ExitCode {
    let read = |settings: &mut Settings, host: &Host, begun| match (&args.approved, &args.file) {
        (Some(id), _) => stored(id, args.run.within.as_deref(), settings, host),
        (None, Some(path)) if path != "-" => streams::read_file("the task", path),
        (None, _) => streams::read_task(host, begun, settings.budget),
    };
    performed(&args.run, interrupts, form, read)
}

/// Performs the task that `read` returns.
pub(super) fn performed(
    run: &RunArgs,
    interrupts: Interrupts,
    form: AnswerForm,
    read: impl FnOnce(&mut Settings, &Host, Moment) -> Result<Vec<u8>, Failure>,
) -> ExitCode {
    let host = Host::new(run.clock.clone(), run.seed, interrupts);
    let begun = host.moment();
    let shown = run.progress.map_or(Ok(ProgressDisplay::bar()), |channel| {
        let signs = Signs::start(channel, begun);
        signs
            .map(ProgressDisplay::Signs)
            .map_err(|why| stop(2)(format!("--progress: {why}")))
    });
    let settings = run.settings();
    match shown.and_then(|shown| Ok((shown, settings?))) {
        Ok((shown, mut settings)) => {
            let input = read(&mut settings, &host, begun);
            answer(input, settings, (host, begun), (shown, form))
        }
        Err(Stop { why, .. }) => {
            let reply = run.reply.unwrap_or_default();
            refuse(unusable(&why, "oneact"), (form, reply), host)
        }
    }
}

/// Performs a task that nobody watches, as a part of another command.
pub(super) fn unwatched(task: Vec<u8>, settings: &Settings, host: &Host) -> (Answer, OperationId) {
    let arrived = Arrived::read(Ok(task), host.moment(), host);
    let course = Course::default();
    let answer = perform(&arrived, settings, host, (&course, &|_| ()), None);
    (answer, arrived.operation)
}

/// The stored task of a request for an approval, which is performed in its session.
fn stored(
    id: &str,
    within: Option<&str>,
    settings: &mut Settings,
    host: &Host,
) -> Result<Vec<u8>, Failure> {
    let (approved, task) = people::approved(&settings.project, id, host)?;
    let session = approved.session();
    if within.is_some_and(|within| within != session.id) {
        let message = format!("{id} was requested in another session, not in this one");
        return Err(Failure::new(Fault::ApprovalMismatch, message));
    }
    // What was requested by `oneact call` can be a tool without an entry.
    if settings.through == Through::Command {
        settings.nameable = Nameable::Tools;
    }
    settings.session = Some(session);
    settings.approved = Some(approved);
    Ok(task)
}

/// Answers a command line that cannot be used: with an envelope on stdout, and with the reason on stderr, in one line.
pub(super) fn refuse(failure: Failure, (form, reply): (AnswerForm, Reply), host: Host) -> ExitCode {
    let root = Utf8PathBuf::from("/");
    // Nothing is performed, wherever that would be.
    let settings = Settings {
        mode: Mode::DryRun,
        reply,
        ..Settings::of(Project {
            catalog: root.join("catalog.toml"),
            state_dir: root.join(".oneact"),
            root,
            ledger: None,
        })
    };
    let begun = host.moment();
    answer(
        Err(failure),
        settings,
        (host, begun),
        (ProgressDisplay::bar(), form),
    )
}

/// Why a command line cannot be used, in one line. `help` is the command whose help says more.
pub(super) fn misused(error: &clap::Error, hint: Option<&str>, help: &str) -> Failure {
    let said = error.to_string();
    // Arguments that are missing, and tips, stand in lines of their own; how the command is used follows them.
    let lines = said.lines().map(str::trim);
    let ends = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
    let lines = lines.take_while(|line| !ends(line));
    // clap would also say how the word is given as a value, which it is not.
    let is_for_us =
        |line: &&str| hint.is_none() || !line.starts_with("tip: ") || line.contains("similar");
    let lines = lines.filter(|line| !line.is_empty()).filter(is_for_us);
    let lines = lines.map(|line| {
        line.trim_start_matches("error: ")
            .trim_start_matches("tip: ")
    });
    let what: Vec<&str> = lines.chain(hint).collect();
    unusable(&what.join("; ").replace(":; ", ": "), help)
}

/// What a person may have meant whose verb is unknown, but is the name of a file.
pub(super) fn file_hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    let is_file = Utf8Path::new(word).is_file();
    is_file.then(|| format!("to perform the task in this file: oneact run {word}"))
}

fn unusable(what: &str, help: &str) -> Failure {
    let message = format!("the command line cannot be used: {what}; see `{help} --help`");
    Failure::new(Fault::InvalidUsage, message)
}

/// Performs the task and prints one envelope, also after a panic or if the run does not end.
fn answer(
    input: Result<Vec<u8>, Failure>,
    settings: Settings,
    (host, begun): (Host, Moment),
    (shown, form): (ProgressDisplay, AnswerForm),
) -> ExitCode {
    panic::set_hook(Box::new(|panic| tracing::error!("{panic}")));
    let arrived = panic::catch_unwind(AssertUnwindSafe(|| {
        let arrived = Arrived::read_in(settings.session.clone(), input, begun, &host);
        // `oneact call` makes a new id for each task, and a stored task has one already: neither binds an approval.
        if settings.nameable == Nameable::Tools || settings.approved.is_some() {
            arrived.numbered()
        } else {
            arrived
        }
    }));
    let arrived = arrived.unwrap_or_else(|_| {
        let failure = Failure::new(Fault::Internal, "internal error (see stderr)");
        Arrived::read(Err(failure), begun, &host)
    });
    let watched = Arc::new(Watched::new(host, settings, arrived, (shown, form)));
    watched.watch();
    let Watched {
        host,
        settings,
        arrived,
        course,
        ..
    } = &*watched;
    let answer = panic::catch_unwind(AssertUnwindSafe(|| {
        perform(
            arrived,
            settings,
            host,
            (course, &|seen| watched.see(seen)),
            None,
        )
    }))
    .unwrap_or_else(|_| broken(arrived, settings.reply, host));
    watched.shown.end();
    // Signals are handled until the last server has ended. They do not change the answer any more.
    let code = answer.exit_code(host.interrupts().caught());
    if !watched.speaks() {
        // The watching thread writes the answer and ends this process.
        loop {
            thread::park();
        }
    }
    let printed = watched.print(&answer, code);
    if printed.is_ok() {
        // The other thread may end the process while servers are still ending.
        let _ = watched.written.set(code);
        tracing::debug!("answer written");
    }
    watched.send(&answer);
    // The drop waits for servers that are still ending, so it comes after the answer.
    drop(answer);
    ExitCode::from(printed.unwrap_or_else(|code| code))
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    #[test]
    fn a_wrong_command_line_is_told_in_one_line_with_what_is_missing_and_a_hint() {
        let command =
            Command::new("c").args([Arg::new("A").required(true), Arg::new("B").long("bee")]);
        let told = |words: &[&str], hint| {
            let error = command.clone().try_get_matches_from(words).unwrap_err();
            misused(&error, hint, "oneact c").message
        };
        let missing = told(&["c"], None);
        assert!(
            missing.contains("were not provided: <A>; see `oneact c --help`"),
            "{missing}"
        );
        let unknown = told(&["c", "a", "--bea", "1"], Some("write B=1"));
        assert!(unknown.contains("'--bee'; write B=1; see"), "{unknown}");
        let long = Arg::new("C").long("see").value_parser(["x"]);
        let error = Command::new("c")
            .arg(long)
            .try_get_matches_from(["c", "--see", "y"]);
        let wrong = misused(&error.unwrap_err(), None, "oneact c").message;
        assert!(
            wrong.ends_with("[possible values: x]; see `oneact c --help`"),
            "{wrong}"
        );
    }
}
