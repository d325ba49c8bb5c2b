//! `oneact serve NAME`: a built-in tool server on stdio, or the catalog as one, on stdio or over HTTP. stdout belongs to the protocol.
//! `oneact supervise`: performs the tasks on stdin, one per line, and writes an envelope per line. Only
//! `oneact serve catalog` starts it, for the servers that live as long as its session.

use std::{
    mem,
    net::SocketAddr,
    os::unix::fs::MetadataExt as _,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use super::{
    approve::HostedRequests,
    ended::{Stop, stop},
    logs,
    settings::{PlaceArgs, RunArgs, moment, session_of_environment},
    signs::progress_line,
    streams::{StdinPart, print, read_part, tell},
};
use crate::{
    envelope::MAX_BYTES,
    gateway::{Door, Elicit, Gateway},
    host::{self, Clock, Host, Interrupts},
    perform::{Arrived, RunEvent, broken, keep, perform},
    servers,
    task::{Course, NamedSession, OperationId, duration_or_seconds},
};
use camino::{Utf8Path, Utf8PathBuf};
use clap::Args;
use jiff::Zoned;

/// The server whose tools are the actions of the catalog.
const CATALOG: &str = "catalog";

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The name of the server; `catalog` offers the actions of catalog.toml
    #[arg(value_parser = clap::builder::PossibleValuesParser::new([CATALOG].into_iter().chain(servers::names().map(|(name, _)| name))))]
    name: String,
    /// Use this time as the server's clock, as `--clock` of a run does
    #[arg(long, value_name = "RFC9557", value_parser = moment)]
    clock: Option<Zoned>,
    #[command(flatten, next_help_heading = "Options of `serve catalog`")]
    catalog: CatalogFlags,
}

#[derive(Debug, Default, PartialEq, Args)]
struct CatalogFlags {
    #[command(flatten)]
    places: PlaceArgs,
    /// The calling context: a [profile.NAME] of the catalog
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The session of all calls [default: `$ONEACT_SESSION`, or a new one]
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The longest duration of one call: 90s, 500ms, 2m, or a number of seconds
    #[arg(long, value_name = "DURATION", value_parser = duration_or_seconds)]
    timeout: Option<Duration>,
    /// Serve over HTTP at this address, such as 127.0.0.1:8080, instead of on stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// A file whose only line is the bearer token that every request over HTTP must have; required for an address that is
    /// not loopback
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<Utf8PathBuf>,
}

/// Serves until stdin ends.
pub(super) fn run(args: &ServeArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let ServeArgs {
        name,
        clock,
        catalog,
    } = args;
    if name == CATALOG {
        let host = Host::new(clock.clone(), None, interrupts.clone());
        return serve_catalog(catalog, clock.as_ref(), &host, interrupts);
    }
    if *catalog != CatalogFlags::default() {
        return Err(stop(2)(format!(
            "of the options, `oneact serve {name}` has only --clock; the others are those of `oneact serve catalog`"
        )));
    }
    servers::serve(name, Clock::new(clock.clone()))?;
    Ok(ExitCode::SUCCESS)
}

fn serve_catalog(
    flags: &CatalogFlags,
    clock: Option<&Zoned>,
    host: &Host,
    interrupts: Interrupts,
) -> Result<ExitCode, Stop> {
    if flags.http.is_none() && host::input_is_a_terminal() {
        let why = "`oneact serve catalog` speaks MCP on stdin and stdout, so an MCP client must start it, not a terminal; \
                   with --http 127.0.0.1:8080, it serves over HTTP";
        return Err(stop(2)(why));
    }
    let door = door(flags)?;
    let project = flags.places.project()?;
    // Each call gets the root by name.
    let _ = flags.places.temporary(&project.root);
    let process = OperationId::new(host.timestamp(), host.random_bytes());
    let process = process.as_str().trim_start_matches("op_").to_owned();
    let named = match &flags.session {
        Some(session) => match NamedSession::unusable(session) {
            Some(why) => return Err(stop(2)(format!("the session {session:?} {why}"))),
            None => Some(session.clone()),
        },
        None => session_of_environment().map_err(stop(2))?,
    };
    let mut passed = Vec::from(["--root".to_owned(), project.root.to_string()]);
    passed.extend(["--catalog".to_owned(), project.catalog.to_string()]);
    if let Some(profile) = &flags.profile {
        passed.push(format!("--profile={profile}"));
    }
    if let Some(timeout) = flags.timeout {
        passed.push(format!("--timeout={}ms", timeout.as_millis()));
    }
    if let Some(clock) = clock {
        passed.push(format!("--clock={clock}"));
    }
    passed.extend(logs::flags());
    let requests = HostedRequests {
        root: project.root,
        catalog: project.catalog.clone(),
        interrupts,
    };
    let key = [host.random_bytes(), host.random_bytes()].concat();
    let gateway = Gateway {
        catalog: project.catalog,
        profile: flags.profile.clone(),
        session: named,
        process,
        flags: passed,
        elicit: Elicit::new(Arc::new(requests), key),
    };
    let opened = gateway.open().map_err(|failure| stop(2)(failure.message))?;
    match door {
        Some(door) => {
            tell(&format!(
                "oneact: the catalog is served at {}\n",
                door.url()?
            ));
            opened.serve_http(door)?;
        }
        None => opened.serve()?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The shortest token: 16 letters and digits cannot be guessed.
const SHORTEST_TOKEN: usize = 16;
/// A longer file is no token.
const LONGEST_TOKEN: u64 = 4096;

/// Where the catalog is served over HTTP, if it is.
fn door(flags: &CatalogFlags) -> Result<Option<Door>, Stop> {
    let Some(address) = flags.http else {
        return Ok(None);
    };
    let token = flags.token_file.as_deref().map(token).transpose()?;
    if token.is_none() && !address.ip().is_loopback() {
        let why = format!(
            "{address} can be reached by others: name a file with a token for them with --token-file, or serve at \
             127.0.0.1:{}",
            address.port()
        );
        return Err(stop(2)(why));
    }
    let door = Door::open(address, token.as_deref());
    door.map(Some)
        .map_err(|error| stop(2)(format!("cannot listen at {address}: {error}")))
}

fn token(path: &Utf8Path) -> Result<String, Stop> {
    let wrong = |why: &str| stop(2)(format!("--token-file {path}: {why}"));
    let about = path.metadata().map_err(|error| wrong(&error.to_string()))?;
    if about.mode() & 0o077 != 0 {
        return Err(wrong("other users can read it; run `chmod 600` on it"));
    }
    let bytes = host::read_plain(path, LONGEST_TOKEN).map_err(|error| wrong(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))?;
    let token = text.trim();
    if token.len() < SHORTEST_TOKEN || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(wrong(
            "it must contain one token of at least 16 visible ASCII characters",
        ));
    }
    Ok(token.to_owned())
}

/// Performs tasks until stdin ends, a signal comes, or oneact has a defect.
pub(super) fn supervise(args: &RunArgs, interrupts: Interrupts) -> Result<ExitCode, Stop> {
    let settings = args.settings()?;
    let host = Host::new(args.clock.clone(), args.seed, interrupts);
    let kept = keep(&settings, &host).map_err(|failure| stop(1)(failure.message))?;
    let mut tasks = TaskLines::default();
    while let Some(task) = tasks.next(&host)? {
        let begun = host.moment();
        let arrived = Arrived::read_in(settings.session.clone(), Ok(task), begun, &host);
        let course = Course::default();
        let answer = panic::catch_unwind(AssertUnwindSafe(|| {
            let watch = |seen: RunEvent<'_>| {
                if let RunEvent::Progress(done) = seen {
                    tell(&progress_line(done));
                }
            };
            perform(&arrived, &settings, &host, (&course, &watch), Some(&kept))
        }));
        let defect = answer.is_err();
        let answer = answer.unwrap_or_else(|_| broken(&arrived, settings.reply, &host));
        if let Some(failure) = &answer.outcome().failure {
            logs::failed(failure);
        }
        if print(&answer.line).is_err() || defect {
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of stdin.
#[derive(Default)]
struct TaskLines {
    read: Vec<u8>,
    /// How many bytes of `read` contain no end of a line.
    searched: usize,
}

impl TaskLines {
    /// The next line. None at the end of stdin, and after a signal.
    fn next(&mut self, host: &Host) -> Result<Option<Vec<u8>>, Stop> {
        let interrupts = host.interrupts();
        while interrupts.caught().is_none() {
            if let Some(line) = self.line() {
                return Ok(Some(line));
            }
            match read_part(&mut self.read, interrupts, || None)? {
                StdinPart::Read(0) | StdinPart::Signal | StdinPart::TimeOver => break,
                StdinPart::Read(_) => {}
            }
        }
        Ok(None)
    }

    /// The next line, if all of it was read. Of a longer line than a task may be, only the beginning is kept: the JSON
    /// reader refuses more than `MAX_BYTES`.
    fn line(&mut self) -> Option<Vec<u8>> {
        let mut new = self.read.iter().skip(self.searched);
        let Some(end) = new.position(|byte| *byte == b'\n') else {
            self.read.truncate(MAX_BYTES + 1);
            self.searched = self.read.len();
            return None;
        };
        let rest = self.read.split_off(self.searched + end + 1);
        self.searched = 0;
        Some(mem::replace(&mut self.read, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_line_is_searched_once() {
        let mut tasks = TaskLines::default();
        for part in ["{\"task", "_id\": "] {
            tasks.read.extend(part.as_bytes());
            assert_eq!(tasks.line(), None);
            assert_eq!(tasks.searched, tasks.read.len());
        }
        tasks.read.extend(b"1}\n{}\n");
        let lines = [tasks.line(), tasks.line(), tasks.line()];
        let [first, second] = [b"{\"task_id\": 1}\n".as_slice(), b"{}\n"].map(<[u8]>::to_vec);
        assert_eq!(lines, [Some(first), Some(second), None]);
    }

    #[test]
    fn a_line_that_no_task_may_have_is_not_kept_whole_and_ends_where_it_ends() {
        let mut tasks = TaskLines::default();
        for _ in 0..4 {
            tasks.read.extend(vec![b' '; MAX_BYTES / 2 + 1]);
            assert_eq!(tasks.line(), None);
            assert!(tasks.read.len() <= MAX_BYTES + 1);
        }
        tasks.read.extend(b"\n{}\n");
        assert!(tasks.line().is_some_and(|line| line.len() > MAX_BYTES));
        assert_eq!(tasks.line(), Some(b"{}\n".to_vec()));
    }
}
