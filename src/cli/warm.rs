//! `oneact warm`: the servers that are kept between runs, and the process that keeps one.

use std::{process::ExitCode, time::Duration};

use clap::{Args, Subcommand};
use rustix::io::fcntl_dupfd_cloexec;
use serde_json::{Value, json};

use crate::{
    host::{Host, Interrupts},
    perform::{About, Stopping, hold, stop_servers, warm_servers},
    task::visible,
};

use super::{
    ended::{Stop, printed, stop},
    help,
    printing::{counted, duration},
    settings::{FormArgs, PlaceArgs},
};

#[derive(Debug, Args)]
pub(super) struct WarmArgs {
    #[command(subcommand)]
    verb: WarmVerb,
}

#[derive(Debug, Subcommand)]
enum WarmVerb {
    /// List the servers that are kept for the next runs
    #[command(after_help = help::of("warm list"))]
    List(FormArgs),
    /// End the servers that are kept, each after its call
    #[command(after_help = help::of("warm stop"))]
    Stop(StopArgs),
}

#[derive(Debug, Args)]
struct StopArgs {
    /// The name of a server; all servers if it is missing
    name: Option<String>,
    #[command(flatten)]
    places: PlaceArgs,
}

pub(super) fn run(args: &WarmArgs) -> Result<ExitCode, Stop> {
    match &args.verb {
        WarmVerb::List(form) => list(form),
        WarmVerb::Stop(args) => end(args),
    }
}

/// The process that keeps a server, as the run on stdin says. It needs nothing of the command line.
pub(super) fn hold_server(interrupts: Interrupts) -> ExitCode {
    let run = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let host = Host::new(None, None, interrupts);
    // The run that started it sees that the connection is closed, and goes on without it.
    let held = run.map_err(Into::into).and_then(|run| hold(run, &host));
    held.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn list(form: &FormArgs) -> Result<ExitCode, Stop> {
    let project = form.places.project()?;
    let servers = warm_servers(&project.state_dir).map_err(stop(1))?;
    let documents: Vec<Value> = servers.iter().map(document).collect();
    let text = || match servers.as_slice() {
        [] => "No server is kept. A server is kept if its entry says `keep_alive = \"10m\"`.\n"
            .to_owned(),
        servers => servers.iter().map(|server| line(server) + "\n").collect(),
    };
    Ok(form.printed(&json!({"servers": documents}), text, 0))
}

fn end(args: &StopArgs) -> Result<ExitCode, Stop> {
    let project = args.places.project()?;
    let told = stop_servers(&project.state_dir, args.name.as_deref()).map_err(stop(1))?;
    let text = match (told.as_slice(), &args.name) {
        ([], None) => "No server is kept.\n".to_owned(),
        ([], Some(name)) => format!("No server with the name {} is kept.\n", visible(name)),
        (told, _) => told.iter().map(stopped).collect(),
    };
    Ok(printed(text, 0))
}

fn stopped(told: &Stopping) -> String {
    let (about, what) = match told {
        Stopping::Ended(about) => (about, "has ended"),
        Stopping::Ending(about) => (about, "is told to end"),
        Stopping::AfterItsCall(about) => (about, "ends after its call"),
    };
    format!("{} {what}.\n", visible(&about.name))
}

/// `everything  pid 4711 · 12 runs · for 3 min 20 s · idle for 12.0 s of 10 min 00 s`
fn line(about: &About) -> String {
    let now = match about.idle {
        Some(idle) => format!("idle for {} of {}", words(idle), words(about.idle_limit)),
        None => "in a call".to_owned(),
    };
    format!(
        "{}  pid {} · {} · for {} · {now} · {}",
        visible(&about.name),
        about.pid,
        counted(about.uses, "run"),
        words(about.age),
        visible(about.root.as_str()),
    )
}

fn words(time: Duration) -> String {
    duration(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

fn document(about: &About) -> Value {
    json!({
        "server": about.name,
        "root": about.root,
        "pid": about.pid,
        "runs": about.uses,
        "age_seconds": about.age.as_secs(),
        "idle_seconds": about.idle.map(|idle| idle.as_secs()),
        "idle_limit_seconds": about.idle_limit.as_secs(),
    })
}
