//! A checked `[server.NAME]`: how a tool server is started or reached.

mod remote;

use std::{collections::BTreeSet, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use crate::task::{
    ALLOW_PRIVATE, Argument, Failure, Fault, PROTECTED, Pipeline, Protocol, SCRATCH, duration,
    nearest,
};

use remote::RawOauth;
pub(crate) use remote::{Bearer, Remote};

use super::{
    approval::approval_settings,
    document::{CatalogError, Named, Tables},
    entry::Entry,
};

/// `[server.NAME]`: how a tool server is started or reached.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    command: Option<Vec<String>>,
    cwd: Option<String>,
    #[serde(default)]
    env: Map<String, Value>,
    #[serde(default)]
    env_pass: Vec<String>,
    startup_timeout: Option<String>,
    shutdown_grace: Option<String>,
    #[serde(default)]
    protocol: Protocol,
    #[serde(default)]
    allow_private: bool,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    keep_alive: KeepAlive,
    concurrency: Option<u32>,
    url: Option<String>,
    #[serde(default)]
    allow_http: bool,
    #[serde(default)]
    headers: Map<String, Value>,
    #[serde(default)]
    headers_env: Map<String, Value>,
    bearer_env: Option<String>,
    bearer_file: Option<String>,
    bearer_command: Option<Vec<String>>,
    oauth: Option<RawOauth>,
    ca_file: Option<String>,
}

/// `keep_alive = true`, or a duration.
#[derive(Debug, Default)]
enum KeepAlive {
    #[default]
    No,
    Session,
    Idle(String),
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Bool(false) => Ok(Self::No),
            Value::Bool(true) => Ok(Self::Session),
            Value::String(idle) => Ok(Self::Idle(idle)),
            _ => Err(D::Error::custom(
                "`keep_alive` must be true, false, or a duration such as \"10m\"",
            )),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) name: String,
    /// Where it is, if it is reached over HTTP. Then it has no command, directory and environment.
    pub(crate) remote: Option<Remote>,
    /// The argv, with `{self}` and `{root}` not yet replaced.
    pub(crate) command: Vec<String>,
    /// Relative to the root.
    pub(crate) cwd: Utf8PathBuf,
    pub(crate) env: Vec<(String, String)>,
    /// Names of variables that are passed on from oneact's own environment.
    pub(crate) env_pass: Vec<String>,
    pub(crate) startup_timeout: Duration,
    pub(crate) shutdown_grace: Duration,
    pub(crate) protocol: Protocol,
    pub(crate) private_network: PrivateNetwork,
    /// Directories, relative to the root, whose files the tools may name as assets, in addition to the run's
    /// scratch directory and the store.
    pub(crate) files: Vec<Utf8PathBuf>,
    pub(crate) lifetime: Lifetime,
}

impl Server {
    /// The variables of oneact's own environment that it needs.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &String> {
        let remote = self.remote.iter().flat_map(Remote::variables);
        self.env_pass.iter().chain(remote)
    }
}

/// How long a server lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    Call,
    /// It serves all calls of a session of `oneact serve catalog` (`keep_alive = true`). In any other run it ends with
    /// the run.
    Session,
    /// It serves several runs, until it was not called for the time `idle` (`keep_alive = "10m"`). At most `at_once`
    /// processes of it are kept, and each performs one call at a time.
    Idle {
        idle: Duration,
        at_once: u32,
    },
}

/// The longest idle time of a server.
const LONGEST_IDLE: Duration = Duration::from_hours(24);
/// The largest number of warm processes of one server.
const MOST_AT_ONCE: u32 = 64;

/// Whether oneact itself (its downloader, its check of inputs) may reach private addresses for this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrivateNetwork {
    Refused,
    Allowed,
}

/// `npx` and `uvx` servers that are not cached yet start slowly. A fast server is not delayed by this limit.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
const SHUTDOWN_GRACE: Duration = Duration::from_millis(250);

pub(super) fn named(tables: &Tables<'_>, name: &str) -> Result<Option<Server>, CatalogError> {
    let server = tables.entry::<RawServer>("server", name)?;
    server.map(|(named, raw)| check(named, raw)).transpose()
}

/// The names of the servers that live as long as a session.
pub(crate) fn kept_servers(tables: &Tables<'_>) -> Result<BTreeSet<String>, CatalogError> {
    let mut kept = BTreeSet::new();
    for name in tables.names("server")? {
        let server = named(tables, name)?;
        kept.extend(
            server
                .filter(|server| server.lifetime == Lifetime::Session)
                .map(|server| server.name),
        );
    }
    Ok(kept)
}

/// The paths that the commands of the servers, of the pipelines and of `[approval] notify` name, and the files with tokens
/// and certificates, absolute or relative to the root.
pub(super) fn programs(
    tables: &Tables<'_>,
    pipelines: &[Pipeline],
) -> Result<Vec<Utf8PathBuf>, CatalogError> {
    let mut programs: Vec<_> = paths(&approval_settings(tables)?.notify, "".into()).collect();
    for name in tables.names("server")? {
        // A server that cannot be read cannot be started.
        if let Ok(Some(server)) = named(tables, name) {
            programs.extend(paths(&server.command, &server.cwd));
            let trusted = server.remote.map(|remote| remote.trusted());
            programs.extend(paths(&trusted.unwrap_or_default(), "".into()));
        }
    }
    for pipeline in pipelines {
        let fixed = |argument: &Argument| match argument {
            Argument::Fixed(text) => Some(text.clone()),
            Argument::Parameter(_) => None,
        };
        let command: Vec<String> = pipeline.command.iter().filter_map(fixed).collect();
        programs.extend(paths(&command, "".into()));
    }
    Ok(programs)
}

/// What each argument can name: all of it, its parts between `=`, `:`, `,`, `@` and spaces, and what is behind an option
/// of one letter.
fn paths<'a>(
    command: &'a [String],
    cwd: &'a Utf8Path,
) -> impl Iterator<Item = Utf8PathBuf> + use<'a> {
    let parts = command.iter().flat_map(|argument| {
        let option = argument.strip_prefix('-').and_then(|rest| rest.get(1..));
        let parts = argument.split(['=', ':', ',', '@', ' ']).chain(option);
        // A word is a path only if it is the whole argument, or looks like a path.
        let paths = parts.filter(|part| part.contains(['/', '.']));
        paths.chain([argument.as_str()])
    });
    parts.map(|part| match part.strip_prefix("{root}") {
        Some(below) => Utf8PathBuf::from(below.trim_start_matches('/')),
        // Of `file:///path`, the part is `///path`.
        None => cwd.join(part),
    })
}

/// Reads the server of this capability; there must be one (R-000-100).
pub(crate) fn of(tables: &Tables<'_>, entry: &Entry) -> Result<Server, Failure> {
    if let Some(server) = named(tables, &entry.server)? {
        return Ok(server);
    }
    let name = &entry.server;
    let hint = match nearest(name, tables.names("server")?) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "add one with its `command` or its `url`".to_owned(),
    };
    let place = &entry.names_server_at;
    let message = format!("{place}: the catalog has no [server.{name}]; {hint}");
    Err(Failure::new(Fault::ServerNotFound, message))
}

fn check(named: Named<'_>, raw: RawServer) -> Result<Server, CatalogError> {
    let wrong = |problem: &str| named.wrong_at(named.at, problem);
    let remote = remote::reached(&raw).map_err(|problem| wrong(&problem))?;
    let command = raw.command.unwrap_or_default();
    if remote.is_none() && command.first().is_none_or(String::is_empty) {
        return Err(wrong(
            "`command` must name a program, as an array of arguments",
        ));
    }
    if raw.files.iter().any(String::is_empty) {
        return Err(wrong(
            "`files` must name directories; write \".\" for the root itself",
        ));
    }
    let values = raw.env.values().filter_map(Value::as_str);
    let texts = command.iter().map(String::as_str).chain(values);
    let mut texts = texts.chain(raw.cwd.as_deref());
    if texts.any(|text| text.contains('\0')) {
        return Err(wrong(
            "`command`, `cwd` and `env` cannot contain a NUL character",
        ));
    }
    let is_no_name = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    if let Some(name) = raw.env.keys().chain(&raw.env_pass).find(is_no_name) {
        return Err(wrong(&format!(
            "no variable can have the name `{name}`; rename it in `env` or `env_pass`"
        )));
    }
    let own = [SCRATCH, PROTECTED, ALLOW_PRIVATE];
    let mut set = raw.env.keys().chain(&raw.env_pass);
    if let Some(name) = set.find(|name| own.contains(&name.as_str())) {
        let problem = format!("oneact itself sets `{name}`; take it out of `env` or `env_pass`");
        return Err(wrong(&match name.as_str() {
            ALLOW_PRIVATE => format!("{problem}, and write `allow_private = true`"),
            _ => problem,
        }));
    }
    let time = |value: Option<&String>, default| match value {
        Some(text) => duration(text).map_err(|problem| wrong(&problem)),
        None => Ok(default),
    };
    Ok(Server {
        name: named.name.to_owned(),
        cwd: Utf8PathBuf::from(raw.cwd.as_deref().unwrap_or(".")),
        env: remote::texts("env", &raw.env).map_err(|problem| wrong(&problem))?,
        env_pass: raw.env_pass,
        startup_timeout: time(raw.startup_timeout.as_ref(), STARTUP_TIMEOUT)?,
        shutdown_grace: time(raw.shutdown_grace.as_ref(), SHUTDOWN_GRACE)?,
        protocol: raw.protocol,
        private_network: if raw.allow_private {
            PrivateNetwork::Allowed
        } else {
            PrivateNetwork::Refused
        },
        files: raw.files.into_iter().map(Utf8PathBuf::from).collect(),
        lifetime: lifetime(&raw.keep_alive, raw.concurrency, &command)
            .map_err(|problem| wrong(&problem))?,
        command,
        remote,
    })
}

fn lifetime(
    keep_alive: &KeepAlive,
    concurrency: Option<u32>,
    command: &[String],
) -> Result<Lifetime, String> {
    if matches!(keep_alive, KeepAlive::Idle(_))
        && command.first().is_some_and(|own| own == "{self}")
    {
        // They write only into the scratch directory of their run.
        return Err("the servers of oneact start at once; remove `keep_alive`".to_owned());
    }
    let idle = match keep_alive {
        KeepAlive::Idle(text) => duration(text)?,
        KeepAlive::No | KeepAlive::Session if concurrency.is_some() => {
            return Err(
                "`concurrency` needs a `keep_alive` with a duration, such as \"10m\"".to_owned(),
            );
        }
        KeepAlive::No => return Ok(Lifetime::Call),
        KeepAlive::Session => return Ok(Lifetime::Session),
    };
    if idle.is_zero() || idle > LONGEST_IDLE {
        return Err("`keep_alive` must be longer than nothing, and at most 24h".to_owned());
    }
    let at_once = concurrency.unwrap_or(1);
    if !(1..=MOST_AT_ONCE).contains(&at_once) {
        return Err(format!("`concurrency` must be from 1 to {MOST_AT_ONCE}"));
    }
    Ok(Lifetime::Idle { idle, at_once })
}
